//! What comes of running a function, and why it may not have come to its end.

use std::borrow::Cow;
use std::error::Error;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use kiln_go::GoDuration;
use kiln_krm::ResourceList;
use kiln_sandbox::Excess;

/// What a function that ran to its end left behind, whether it succeeded or not.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Zero for success, -1 for a function that was killed by a signal.
    pub exit_code: i32,
    /// The signal that killed it.
    pub signal: Option<i32>,
    /// What it answered.
    pub output: Output,
    /// What it printed besides.
    pub stderr: Vec<u8>,
    /// How long it took.
    pub elapsed: Duration,
}

/// A function's answer.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one for each call, and it is taken apart at once"
)]
pub enum Output {
    /// Text that still has to be parsed.
    Wire(Bytes),
    /// A tree, from a runner that works on trees.
    List(ResourceList),
}

impl Outcome {
    /// Whether the function says that it succeeded.
    pub fn is_success(&self) -> bool {
        self.exit_code == 0
    }

    /// How it ended, in Go's words: `exit status 7`, `signal: killed`.
    pub fn exit_text(&self) -> String {
        exit_text(self.exit_code, self.signal)
    }

    /// What it printed besides, as text.
    pub fn stderr_text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.stderr)
    }
}

/// How a process ended, in Go's words.
pub(crate) fn exit_text(exit_code: i32, signal: Option<i32>) -> String {
    match signal {
        None => format!("exit status {exit_code}"),
        Some(signal) => format!("signal: {}", signal_text(signal)),
    }
}

fn signal_text(signal: i32) -> String {
    let text = match signal {
        1 => "hangup",
        2 => "interrupt",
        3 => "quit",
        4 => "illegal instruction",
        5 => "trace/breakpoint trap",
        6 => "aborted",
        8 => "floating point exception",
        9 => "killed",
        11 => "segmentation fault",
        13 => "broken pipe",
        14 => "alarm clock",
        15 => "terminated",
        other => return format!("signal {other}"),
    };
    text.to_owned()
}

/// Why a function could not be run to its end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The program is not there or cannot be executed. kpt writes `unexpected function error: ` before it.
    #[error(transparent)]
    NotStarted(#[from] StartError),
    /// What is needed to run the function is not there.
    #[error(transparent)]
    Unavailable(Box<dyn Error + Send + Sync>),
    /// The runner does not know the function after all; another may. For runners that have to ask elsewhere first.
    #[error(transparent)]
    NotFound(Box<dyn Error + Send + Sync>),
    /// Who was asked to run it elsewhere could not, or says no more than that it failed.
    #[error(transparent)]
    Remote(Box<dyn Error + Send + Sync>),
    /// Its time was up, and it was killed.
    #[error(
        "function did not finish within {} and was killed; a longer time can be given with --timeout",
        GoDuration::from_whole_millis(*timeout)
    )]
    TimedOut {
        /// The time it had.
        timeout: Duration,
        /// What it had printed until then.
        stderr: Vec<u8>,
    },
    /// It wrote too much, and was killed.
    #[error(
        "function wrote more than {limit} bytes and was killed; more can be allowed with --max-output"
    )]
    OutputTooLarge {
        /// How much it may write.
        limit: u64,
    },
    /// It used more than the sandbox allows, and was killed.
    #[error("function used more than {0} and was killed")]
    OverLimit(Excess),
    /// The caller gave up, and it was killed.
    #[error("function was interrupted")]
    Cancelled,
    /// The operating system got in the way.
    #[error("{doing}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// What went wrong.
        source: io::Error,
    },
}

/// Why a program could not be started, in Go's words.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StartError {
    /// There is no program.
    #[error("exec: no command")]
    NoCommand,
    /// No directory of the search path has it.
    #[error(
        "exec: {}: executable file not found in $PATH",
        kiln_go::quote(program)
    )]
    NotOnPath {
        /// The name.
        program: String,
    },
    /// A relative directory of the search path has it.
    #[error(
        "exec: {}: cannot run executable found relative to current directory",
        kiln_go::quote(program)
    )]
    RelativeToCurrentDirectory {
        /// The name.
        program: String,
    },
    /// The operating system refused.
    #[error("fork/exec {program}: {reason}")]
    ForkExec {
        /// The path.
        program: String,
        /// What kind of error it is, for hints.
        problem: ExecProblem,
        /// The system's words.
        reason: String,
    },
}

/// What kind of error the operating system reported when it started a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExecProblem {
    /// The program, or the interpreter of a script, does not exist.
    NotFound,
    /// The file may not be executed.
    PermissionDenied,
    /// The file is neither a program nor a script with an interpreter line.
    NotAProgram,
    /// Any other error.
    Other,
}

impl ExecProblem {
    /// The kind of an error of the operating system.
    pub fn of(error: &io::Error) -> ExecProblem {
        match error.kind() {
            io::ErrorKind::NotFound => ExecProblem::NotFound,
            io::ErrorKind::PermissionDenied => ExecProblem::PermissionDenied,
            _ if error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error()) => {
                ExecProblem::NotAProgram
            }
            _ => ExecProblem::Other,
        }
    }
}
