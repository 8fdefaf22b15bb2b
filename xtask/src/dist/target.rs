//! The platforms of a release, what it takes to build for them, and the build.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;

use anyhow::{Context as _, Result, bail};
use kiln_oci::Platform;

use super::files::PackedFiles;

/// The programs of a release with the features that are not on by default.
pub(super) const PROGRAMS: &[(&str, &[&str])] = &[
    ("function-runner", &[]),
    ("kiln", &["wasm-jit"]),
    ("wrapper-server", &[]),
];

/// A platform for which there are releases. All of them use musl, so that programs are static and need no files of the
/// machine, not even to resolve names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReleaseTarget {
    architecture: &'static str,
    debian: &'static str,
}

/// All platforms for which there are releases.
pub const TARGETS: &[ReleaseTarget] = &[
    ReleaseTarget {
        architecture: "x86_64",
        debian: "amd64",
    },
    ReleaseTarget {
        architecture: "aarch64",
        debian: "arm64",
    },
];

impl FromStr for ReleaseTarget {
    type Err = anyhow::Error;

    fn from_str(triple: &str) -> Result<ReleaseTarget> {
        let found = TARGETS.iter().find(|target| target.triple() == triple);
        let known = || {
            TARGETS
                .iter()
                .map(ReleaseTarget::triple)
                .collect::<Vec<_>>()
        };
        found.copied().with_context(|| {
            format!(
                "there are no releases for {triple:?}, only for {}",
                known().join(" and ")
            )
        })
    }
}

/// Programs of a release, and what debuggers read, if the programs had it.
pub(super) struct BuiltPrograms {
    pub(super) programs: PackedFiles,
    pub(super) debug: PackedFiles,
}

impl ReleaseTarget {
    pub(super) fn triple(&self) -> String {
        format!("{}-unknown-linux-musl", self.architecture)
    }

    /// The architecture in Debian's words.
    pub(super) fn debian(&self) -> &'static str {
        self.debian
    }

    pub(super) fn platform(&self) -> Platform {
        Platform::linux(self.architecture)
    }

    /// Whether this machine runs programs of the platform.
    pub(super) fn is_this_machine(&self) -> bool {
        cfg!(target_os = "linux") && self.architecture == std::env::consts::ARCH
    }

    /// What is missing for a build, as commands for Debian that install it.
    pub(super) fn missing(&self) -> Result<Vec<String>> {
        let mut missing = Vec::new();
        let triple = self.triple();
        let output = Command::new("rustc")
            .args(["--print", "target-libdir", "--target", &triple])
            .output()
            .context("cannot run rustc")?;
        let library = String::from_utf8(output.stdout)?;
        if !Path::new(library.trim()).is_dir() {
            missing.push(format!("rustup target add {triple}"));
        }
        for tool in [self.compiler(), self.objcopy()] {
            let found = Command::new(&tool).arg("--version").output();
            if found.is_err() {
                let package = match self.is_this_machine() {
                    true => "musl-tools".to_owned(),
                    false => format!("gcc-{}-linux-gnu", self.architecture.replace('_', "-")),
                };
                missing.push(format!("apt-get install {package}  # for {tool}"));
            }
        }
        Ok(missing)
    }

    /// Builds the programs, each one alone: cargo would enable features of one in the other.
    pub(super) fn build(
        &self,
        root: &Path,
        directory: &Path,
        profile: &str,
    ) -> Result<BuiltPrograms> {
        let mut built = BuiltPrograms {
            programs: PackedFiles::default(),
            debug: PackedFiles::default(),
        };
        for (package, features) in PROGRAMS {
            let program = self.build_program(package, features, root, directory, profile)?;
            self.separate(package, &program, &mut built)?;
        }
        Ok(built)
    }

    fn build_program(
        &self,
        package: &str,
        features: &[&str],
        root: &Path,
        directory: &Path,
        profile: &str,
    ) -> Result<PathBuf> {
        let triple = self.triple();
        let variable = triple.replace('-', "_");
        let mut command = Command::new("cargo");
        command.args(["build", "--locked", "--quiet", "-p", package]);
        command.args(["--profile", profile, "--target", &triple, "--target-dir"]);
        command
            .arg(directory)
            .arg("--features")
            .arg(features.join(","));
        command.env(format!("CC_{variable}"), self.compiler());
        if !self.is_this_machine() {
            let linker = format!("CARGO_TARGET_{}_LINKER", variable.to_uppercase());
            command.env(linker, self.compiler());
        }
        // Paths of this machine are of no use to others, and would make programs differ between machines.
        let mut flags = vec!["-Ctarget-feature=+crt-static".to_owned()];
        for (path, name) in [(Some(root.to_owned()), "/kiln"), (cargo_home(), "/cargo")] {
            flags.extend(path.map(|path| format!("--remap-path-prefix={}={name}", path.display())));
        }
        command.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
        command.env("KILN_COMMIT", git(root, &["rev-parse", "HEAD"])?);
        command.env(
            "KILN_BUILD_DATE",
            git(root, &["log", "-1", "--format=%cs"])?,
        );
        run(command.current_dir(root))?;
        let built = match profile {
            "dev" => "debug",
            other => other,
        };
        Ok(directory.join(triple).join(built).join(package))
    }

    /// Moves what only debuggers read to a file of its own, which they find by the name in the program.
    fn separate(&self, name: &str, program: &Path, built: &mut BuiltPrograms) -> Result<()> {
        let work = tempfile::tempdir()?;
        let debug_name = format!("{name}.debug");
        let (debug, stripped) = (work.path().join(&debug_name), work.path().join(name));
        let mut keep = Command::new(self.objcopy());
        keep.arg("--only-keep-debug").arg(program).arg(&debug);
        run(&mut keep)?;
        let mut strip = Command::new(self.objcopy());
        strip
            .arg("--strip-all")
            .arg(format!("--add-gnu-debuglink={debug_name}"));
        run(strip.arg(program).arg(&stripped).current_dir(work.path()))?;
        built.programs.add_program(name, std::fs::read(&stripped)?);
        built.debug.add(debug_name, std::fs::read(&debug)?);
        Ok(())
    }

    /// The compiler of the few parts in C and assembler, and the linker of other machines' programs.
    fn compiler(&self) -> String {
        match self.is_this_machine() {
            true => "musl-gcc".to_owned(),
            false => format!("{}-linux-gnu-gcc", self.architecture),
        }
    }

    fn objcopy(&self) -> String {
        match self.is_this_machine() {
            true => "objcopy".to_owned(),
            false => format!("{}-linux-gnu-objcopy", self.architecture),
        }
    }
}

/// The output of a git command in the workspace.
pub(super) fn git(root: &Path, arguments: &[&str]) -> Result<String> {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(root)
        .output();
    let output = output.context("cannot run git")?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        bail!("git {} failed: {}", arguments.join(" "), message.trim());
    }
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

fn cargo_home() -> Option<PathBuf> {
    let own = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    own.or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo")))
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
