//! The programs that go into images, built so that they need nothing of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::content::Program;

const STATIC: &str = "-C target-feature=+crt-static";

/// Builds one, and says where it is.
pub(super) fn build(
    program: Program,
    root: &Path,
    target_directory: &Path,
    profile: &str,
) -> Result<PathBuf> {
    // Apart from what is built for this machine, because every flag is another build.
    let directory = target_directory.join("static");
    fs::create_dir_all(&directory)?;
    match program {
        Program::Wrapper => wrapper(root, &directory, profile),
        Program::Runner => runner(root, &directory, profile),
        Program::TestFunction => function(root, &directory),
    }
}

/// There is one way to build the wrapper.
fn wrapper(root: &Path, directory: &Path, profile: &str) -> Result<PathBuf> {
    let mut command = Command::new(root.join("deploy/build-wrapper"));
    command.args(["--profile", profile, "--target-dir"]);
    command.arg(directory);
    let output = strip(&mut command).current_dir(root).output();
    let output = output.context("cannot run deploy/build-wrapper")?;
    if !output.status.success() {
        bail!(
            "deploy/build-wrapper failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let path = String::from_utf8(output.stdout)?;
    Ok(PathBuf::from(path.trim()))
}

/// Not together with the wrapper: cargo would give that the features which only the runner wants.
fn runner(root: &Path, directory: &Path, profile: &str) -> Result<PathBuf> {
    let host = host()?;
    let mut command = Command::new("cargo");
    command.args(["build", "--locked", "--quiet", "-p", "function-runner"]);
    command.args(["--profile", profile, "--target", &host, "--target-dir"]);
    command.arg(directory);
    command.env("RUSTFLAGS", STATIC);
    command.env_remove("CARGO_ENCODED_RUSTFLAGS");
    run(strip(&mut command).current_dir(root))?;
    let built = match profile {
        "dev" => "debug",
        other => other,
    };
    Ok(directory.join(host).join(built).join("function-runner"))
}

/// One file, for which cargo is not needed.
fn function(root: &Path, directory: &Path) -> Result<PathBuf> {
    let program = directory.join("test-function");
    let mut command = Command::new("rustc");
    command.args(["--edition=2024", "-C", "opt-level=s", "-C", "panic=abort"]);
    command.args(["-C", "strip=symbols", "-C", "target-feature=+crt-static"]);
    command.arg("-o").arg(&program);
    command.arg("deploy/images/function.rs");
    run(command.current_dir(root))?;
    Ok(program)
}

/// Nobody debugs in an image.
fn strip(command: &mut Command) -> &mut Command {
    for profile in ["DEV", "RELEASE"] {
        command.env(format!("CARGO_PROFILE_{profile}_STRIP"), "symbols");
        command.env(format!("CARGO_PROFILE_{profile}_DEBUG"), "0");
    }
    command
}

/// What this machine is called. Named as a target, flags are for programs alone and not for what runs while they are built.
fn host() -> Result<String> {
    let output = Command::new("rustc").arg("-vV").output();
    let output = output.context("cannot run rustc")?;
    let said = String::from_utf8(output.stdout)?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host
        .context("rustc does not say for what it builds")?
        .to_owned())
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.status();
    let program = command.get_program().display().to_string();
    let status = status.with_context(|| format!("cannot run {program}"))?;
    if !status.success() {
        bail!("{program} failed: {status}");
    }
    Ok(())
}
