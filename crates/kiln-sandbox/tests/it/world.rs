//! A sandbox, and the hostile program inside and outside of it.

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output};
use std::sync::atomic::{AtomicU64, Ordering};

use kiln_sandbox::{Cell, Sandbox, SandboxError, SandboxPolicy, Surroundings};
use rustix::process::{WaitOptions, waitpid};

/// The program that tries what it should not.
pub(crate) const HOSTILE: &str = env!("CARGO_BIN_EXE_kiln-sandbox-hostile");

/// A sandbox, or none, loudly, where the system has none.
pub(crate) fn sandbox(policy: SandboxPolicy) -> Option<Sandbox> {
    sandbox_in(policy, &std::env::temp_dir())
}

pub(crate) fn sandbox_in(policy: SandboxPolicy, temporary: &Path) -> Option<Sandbox> {
    sandbox_of(policy, temporary, "/nowhere")
}

/// The sandbox of somebody with this home.
pub(crate) fn sandbox_of(policy: SandboxPolicy, temporary: &Path, home: &str) -> Option<Sandbox> {
    let surroundings = Surroundings {
        environment: [
            ("HOME", home),
            ("PATH", "/usr/bin:/bin"),
            ("MINE", "x"),
            ("TOKEN", "secret"),
        ]
        .map(|(name, value)| (name.into(), value.into()))
        .into(),
        temporary: temporary.to_owned(),
    };
    match Sandbox::new(policy, surroundings) {
        Ok(sandbox) => Some(sandbox),
        Err(SandboxError::Unsupported { reason }) => {
            skip(&reason);
            None
        }
        Err(error) => panic!("{error}: {:?}", std::error::Error::source(&error)),
    }
}

#[expect(clippy::print_stderr, reason = "a test that tests nothing says so")]
pub(crate) fn skip(reason: &str) {
    eprintln!("SKIPPED: {reason}");
}

/// Runs a program in a sandbox.
pub(crate) fn run_in(sandbox: &Sandbox, program: &Path, words: &[&str]) -> Output {
    let cell = sandbox.cell(program, None).unwrap();
    run_in_cell(&cell, program, words)
}

/// What these programs print fits into a pipe, so nobody waits for another.
pub(crate) fn run_in_cell(cell: &Cell, program: &Path, words: &[&str]) -> Output {
    let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    let name = program.to_str().unwrap();
    let mut started = cell.start(program, name, &words).unwrap();
    drop(started.stdin);
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    started.stdout.read_to_end(&mut stdout).unwrap();
    started.stderr.read_to_end(&mut stderr).unwrap();
    let (_, status) = waitpid(Some(started.id), WaitOptions::empty())
        .unwrap()
        .unwrap();
    Output {
        status: ExitStatus::from_raw(status.as_raw()),
        stdout,
        stderr,
    }
}

/// What the hostile program says in a sandbox with this policy; none if there is no sandbox.
pub(crate) fn inside_with(policy: SandboxPolicy, words: &[&str]) -> Option<String> {
    let output = run_in(&sandbox(policy)?, Path::new(HOSTILE), words);
    Some(said(&output))
}

/// What a copy of the hostile program prints in a sandbox.
pub(crate) fn inside_program(program: &Path, words: &[&str]) -> Option<String> {
    let output = run_in(&sandbox(SandboxPolicy::default())?, program, words);
    Some(said(&output))
}

pub(crate) fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

pub(crate) fn inside(words: &[&str]) -> Option<String> {
    inside_with(SandboxPolicy::default(), words)
}

/// What it says without one.
pub(crate) fn outside(words: &[&str]) -> String {
    said(&Command::new(HOSTILE).args(words).output().unwrap())
}

fn said(output: &Output) -> String {
    let stdout = String::from_utf8_lossy(&output.stdout);
    format!(
        "{}{}",
        stdout.trim_end(),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// It can be done outside and not inside.
#[track_caller]
pub(crate) fn check_denied(words: &[&str]) {
    let Some(inside) = inside(words) else {
        return;
    };
    assert_eq!(outside(words), "done", "outside: {words:?}");
    assert!(inside.starts_with("denied: "), "{words:?}: {inside}");
}

/// It cannot be done inside; what happens outside depends on who we are, or is better not tried.
#[track_caller]
pub(crate) fn check_denied_inside(words: &[&str]) {
    if let Some(inside) = inside(words) {
        assert!(inside.starts_with("denied: "), "{words:?}: {inside}");
    }
}

#[track_caller]
pub(crate) fn check_done(words: &[&str]) {
    if let Some(inside) = inside(words) {
        assert_eq!(inside, "done", "{words:?}");
    }
}

/// A directory for one test, removed at its end.
pub(crate) struct Place {
    path: PathBuf,
}

impl Place {
    pub(crate) fn new() -> Place {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("kiln-test-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).unwrap();
        Place { path }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The path of something in it, as text.
    pub(crate) fn join(&self, name: &str) -> String {
        self.path.join(name).to_str().unwrap().to_owned()
    }

    /// A copy of the hostile program in it.
    pub(crate) fn program(&self) -> PathBuf {
        let program = self.path.join("hostile");
        std::fs::copy(HOSTILE, &program).unwrap();
        set_mode(&program, 0o755);
        program
    }

    /// The path of a new file in it.
    pub(crate) fn file(&self, name: &str) -> String {
        let path = self.join(name);
        std::fs::write(&path, "kept").unwrap();
        path
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
