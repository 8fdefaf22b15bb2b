//! Builds the programs of images statically, so that they need no other files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::content::ImageProgram;

const STATIC: &str = "-C target-feature=+crt-static";

pub(super) fn build(
    program: ImageProgram,
    root: &Path,
    target_directory: &Path,
    profile: &str,
) -> Result<PathBuf> {
    // Separate from other builds, because other flags cause a rebuild.
    let directory = target_directory.join("static");
    fs::create_dir_all(&directory)?;
    match program {
        ImageProgram::Wrapper => wrapper(root, &directory, profile),
        ImageProgram::Runner => with_cargo("function-runner", root, &directory, profile),
        ImageProgram::Kiln => with_cargo("kiln", root, &directory, profile),
        ImageProgram::TestFunction => function(root, &directory),
    }
}

/// The wrapper is built in one way only.
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

/// Not together with the wrapper: cargo would enable features of the program there.
fn with_cargo(package: &str, root: &Path, directory: &Path, profile: &str) -> Result<PathBuf> {
    let host = host()?;
    let mut command = Command::new("cargo");
    command.args(["build", "--locked", "--quiet", "-p", package]);
    // Images for tests do without the compiler of WebAssembly, which takes minutes to build.
    match (package, profile) {
        ("function-runner", "dev") => {
            command.args(["--no-default-features", "--features=pods"]);
        }
        ("kiln", "dev") => {}
        ("kiln", _) => {
            command.arg("--features=wasm-jit");
        }
        _ => {}
    }
    command.args(["--profile", profile, "--target", &host, "--target-dir"]);
    command.arg(directory);
    command.env("RUSTFLAGS", STATIC);
    command.env_remove("CARGO_ENCODED_RUSTFLAGS");
    run(strip(&mut command).current_dir(root))?;
    let built = match profile {
        "dev" => "debug",
        other => other,
    };
    Ok(directory.join(host).join(built).join(package))
}

/// A single file, so rustc is enough.
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

/// Images need no debug information.
fn strip(command: &mut Command) -> &mut Command {
    for profile in ["DEV", "RELEASE"] {
        command.env(format!("CARGO_PROFILE_{profile}_STRIP"), "symbols");
        command.env(format!("CARGO_PROFILE_{profile}_DEBUG"), "0");
    }
    command
}

/// The target of this machine. With an explicit target, flags apply to the programs and not to build scripts.
fn host() -> Result<String> {
    let output = Command::new("rustc").arg("-vV").output();
    let output = output.context("cannot run rustc")?;
    let said = String::from_utf8(output.stdout)?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc does not print its host")?.to_owned())
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
