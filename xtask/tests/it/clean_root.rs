//! A root directory that has a shell and nothing else, for programs to be installed in.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// Prints why a test is skipped.
pub(crate) fn skipped(what: &str, reason: &str) {
    let message = format!("SKIPPED: {what}, because {reason}\n");
    io::stderr().write_all(message.as_bytes()).expect("stderr");
}

/// The directory, with busybox as all commands.
pub(crate) struct CleanRoot {
    directory: TempDir,
    chroot: PathBuf,
}

impl CleanRoot {
    /// A new root, or why there cannot be one.
    pub(crate) fn new() -> Result<CleanRoot, String> {
        let tried = Command::new("chroot").args(["/", "true"]).output();
        if !tried.is_ok_and(|output| output.status.success()) {
            return Err("chroot is not permitted".to_owned());
        }
        let chroot = find("chroot").ok_or("chroot is not on the PATH")?;
        let busybox = find("busybox").ok_or("busybox is not installed")?;
        let root = CleanRoot {
            directory: tempfile::tempdir().expect("a directory"),
            chroot,
        };
        for name in ["bin", "dev", "tmp", "root"] {
            fs::create_dir(root.path(name)).expect("a directory");
        }
        // A file is enough for scripts, and needs no rights to make devices.
        fs::write(root.path("dev/null"), "").expect("a file");
        fs::copy(&busybox, root.path("bin/busybox")).expect("a copy");
        // busybox can be dynamic.
        root.add_libraries(&busybox);
        let output = root.run("/bin/busybox", &["--list"]);
        let commands = String::from_utf8(output.stdout).expect("text");
        for command in commands.lines().filter(|command| *command != "busybox") {
            symlink("busybox", root.path("bin").join(command)).expect("a link");
        }
        Ok(root)
    }

    /// A path in the root.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    /// Copies a directory of files and directories.
    pub(crate) fn copy(&self, from: &Path, to: &str) {
        let to = self.path(to);
        fs::create_dir_all(&to).expect("a directory");
        let copied = Command::new("cp").arg("-rT").arg(from).arg(&to).status();
        assert!(copied.expect("cp").success());
    }

    /// Copies the libraries that a program of this machine loads: none if it is static, as programs of releases are.
    pub(crate) fn add_libraries(&self, program: &Path) {
        let output = Command::new("ldd").arg(program).output().expect("ldd");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let words = text.split_whitespace();
        for library in words.filter(|word| word.starts_with('/')) {
            let to = self.path(library.trim_start_matches('/'));
            fs::create_dir_all(to.parent().expect("a parent")).expect("a directory");
            fs::copy(library, to).expect("a library");
        }
    }

    /// Runs a program of the root, with a cleared environment.
    pub(crate) fn run(&self, program: &str, arguments: &[&str]) -> Output {
        // The path is looked up in the environment of the new process.
        Command::new(&self.chroot)
            .arg(self.directory.path())
            .arg(program)
            .args(arguments)
            .env_clear()
            .env("HOME", "/root")
            .env("PATH", "/root/.local/bin:/bin")
            .output()
            .expect("chroot")
    }

    /// Runs a script, and returns its exit code and what it printed.
    pub(crate) fn shell(&self, script: &str) -> (Option<i32>, String) {
        let script = format!("exec 2>&1; cd /root; {script}");
        let output = self.run("/bin/sh", &["-c", &script]);
        let text = String::from_utf8_lossy(&output.stdout);
        (output.status.code(), text.into_owned())
    }
}

/// The path of a program.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let directories = std::env::var_os("PATH")?;
    std::env::split_paths(&directories)
        .map(|directory| directory.join(program))
        .find(|path| path.is_file())
}
