//! The environment of a test: its own directory, an empty home, cleared variables, kiln on the path.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(crate) struct TestEnvironment {
    base: tempfile::TempDir,
}

/// The outcome of a program.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl TestEnvironment {
    pub(crate) fn new() -> TestEnvironment {
        // The name that recorded messages are cleaned of.
        let base = tempfile::Builder::new()
            .prefix("kpt-pipeline-e2e-")
            .tempdir()
            .expect("a temporary directory");
        for dir in ["home", "bin", "work"] {
            fs::create_dir(base.path().join(dir)).expect("a directory");
        }
        for name in ["kiln", "kpt"] {
            let link = base.path().join("bin").join(name);
            symlink(env!("CARGO_BIN_EXE_kiln"), link).expect("a link");
        }
        TestEnvironment { base }
    }

    /// The directory that commands are run in.
    pub(crate) fn work(&self) -> PathBuf {
        self.base.path().join("work")
    }

    /// The directory that has kiln in it and nothing else.
    pub(crate) fn bin(&self) -> PathBuf {
        self.base.path().join("bin")
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        let path = self.work().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, content).expect("a file");
    }

    pub(crate) fn write_program(&self, path: &str, content: &str) {
        self.write(path, content);
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.work().join(path), mode).expect("a mode");
    }

    /// A command in the clean environment.
    pub(crate) fn command(&self, program: &str, dir: &Path) -> Command {
        let path = std::env::var("PATH").unwrap_or_default();
        let bin = self.base.path().join("bin");
        let mut command = Command::new(program);
        command
            .current_dir(dir)
            .env_clear()
            .env("PATH", format!("{}:{path}", bin.display()))
            .env("HOME", self.base.path().join("home"))
            // An engine runs images; tests of images select something else.
            .env("KRM_FN_RUNTIME", "docker")
            .env("GIT_CONFIG_NOSYSTEM", "1");
        command
    }

    /// Runs kiln in the work directory.
    pub(crate) fn kiln(&self, args: &[&str], input: &str) -> Outcome {
        let program = self.base.path().join("bin/kiln");
        let mut command = self.command(&program.display().to_string(), &self.work());
        run(command.args(args), input)
    }

    /// Runs lines of shell in a directory.
    pub(crate) fn shell(&self, dir: &Path, script: &str, variables: &[(&str, &str)]) -> Outcome {
        let mut command = self.command("bash", dir);
        command.envs(variables.iter().copied());
        run(command.args(["-c", script]), "")
    }
}

pub(crate) fn run(command: &mut Command, input: &str) -> Outcome {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    // A program may refuse before it has read everything.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().expect("ends");
    Outcome {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// All files below a directory with their content, git's own left out.
pub(crate) fn files(root: &Path) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut pending = vec![root.to_owned()];
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(&dir).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.file_name().is_some_and(|name| name == ".git") {
                continue;
            }
            if path.is_dir() && !path.is_symlink() {
                pending.push(path);
            } else {
                let name = path.strip_prefix(root).expect("below root");
                let content = fs::read(&path).unwrap_or_default();
                let content = String::from_utf8_lossy(&content).into_owned();
                all.insert(name.display().to_string(), content);
            }
        }
    }
    all
}

/// Copies a directory with everything in it.
pub(crate) fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp")
        .arg("-a")
        .args([from, to])
        .status()
        .expect("cp runs");
    assert!(status.success(), "cp {}", from.display());
}
