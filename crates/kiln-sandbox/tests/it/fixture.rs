//! A sandbox, and the hostile program inside and outside of it.

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output};
use std::sync::atomic::{AtomicU64, Ordering};

use kiln_sandbox::{HostEnvironment, Sandbox, SandboxError, SandboxPolicy, SandboxRun};
use rustix::process::{WaitOptions, waitpid};

/// The hostile program.
pub(crate) const HOSTILE: &str = env!("CARGO_BIN_EXE_kiln-sandbox-hostile");

/// A sandbox; `None`, with a message, where the system has none.
pub(crate) fn sandbox(policy: SandboxPolicy) -> Option<Sandbox> {
    sandbox_in(policy, &std::env::temp_dir())
}

pub(crate) fn sandbox_in(policy: SandboxPolicy, temporary: &Path) -> Option<Sandbox> {
    sandbox_of(policy, temporary, "/nowhere")
}

/// The sandbox of a user with this home.
pub(crate) fn sandbox_of(policy: SandboxPolicy, temporary: &Path, home: &str) -> Option<Sandbox> {
    let surroundings = HostEnvironment {
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

#[expect(clippy::print_stderr, reason = "a skipped test is visible")]
pub(crate) fn skip(reason: &str) {
    eprintln!("SKIPPED: {reason}");
}

/// Runs a program in a sandbox.
pub(crate) fn run_in(sandbox: &Sandbox, program: &Path, words: &[&str]) -> Output {
    let sandbox_run = sandbox.prepare_run(program, None).unwrap();
    run_in_sandbox(&sandbox_run, program, words)
}

/// The output of these programs fits into a pipe, so no side waits for the other.
pub(crate) fn run_in_sandbox(sandbox_run: &SandboxRun, program: &Path, words: &[&str]) -> Output {
    let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    let name = program.to_str().unwrap();
    let mut started = sandbox_run.start(program, name, &words).unwrap();
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

/// The output of the hostile program in a sandbox with this policy; `None` if there is no sandbox.
pub(crate) fn inside_with(policy: SandboxPolicy, words: &[&str]) -> Option<String> {
    let output = run_in(&sandbox(policy)?, Path::new(HOSTILE), words);
    Some(output_text(&output))
}

/// The output of a copy of the hostile program in a sandbox.
pub(crate) fn inside_program(program: &Path, words: &[&str]) -> Option<String> {
    let output = run_in(&sandbox(SandboxPolicy::default())?, program, words);
    Some(output_text(&output))
}

pub(crate) fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

pub(crate) fn inside(words: &[&str]) -> Option<String> {
    inside_with(SandboxPolicy::default(), words)
}

/// The output without a sandbox.
pub(crate) fn outside(words: &[&str]) -> String {
    output_text(&Command::new(HOSTILE).args(words).output().unwrap())
}

pub(crate) fn output_text(output: &Output) -> String {
    let stdout = String::from_utf8_lossy(&output.stdout);
    format!(
        "{}{}",
        stdout.trim_end(),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Works outside and not inside.
#[track_caller]
pub(crate) fn check_denied(words: &[&str]) {
    let Some(inside) = inside(words) else {
        return;
    };
    assert_eq!(outside(words), "done", "outside: {words:?}");
    assert!(inside.starts_with("denied: "), "{words:?}: {inside}");
}

/// Does not work inside; the result outside depends on our user, or is better not tried.
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
pub(crate) struct TestDirectory {
    path: PathBuf,
}

impl TestDirectory {
    pub(crate) fn new() -> TestDirectory {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("kiln-test-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).unwrap();
        TestDirectory { path }
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

impl Drop for TestDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
