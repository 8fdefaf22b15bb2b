//! The outcome of a function, and why it may not have run to its end.

use std::borrow::Cow;
use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kiln_go::GoDuration;
use kiln_krm::ResourceList;
use kiln_sandbox::Excess;

use crate::identity::FunctionIdentity;

/// The outcome of a function that ran to its end, whether it succeeded or not.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Zero for success, -1 for a function that a signal killed.
    pub exit_code: i32,
    pub signal: Option<i32>,
    pub output: Output,
    pub stderr: Vec<u8>,
    pub elapsed: Duration,
    /// What exactly ran; `None` if it is not known.
    pub identity: Option<FunctionIdentity>,
    /// Whether this is a kept answer to the same input.
    pub is_cached: bool,
}

/// The answer of a function.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one for each call, and it is taken apart at once"
)]
pub enum Output {
    /// Text that is not parsed yet.
    Wire(Bytes),
    /// A tree, from a runner that works on trees.
    List(ResourceList),
}

impl Outcome {
    pub fn is_success(&self) -> bool {
        self.exit_code == 0
    }

    /// The exit in Go's words: `exit status 7`, `signal: killed`.
    pub fn exit_text(&self) -> String {
        exit_text(self.exit_code, self.signal)
    }

    pub fn stderr_text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.stderr)
    }
}

/// The exit of a process in Go's words.
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

/// Why a function did not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The program does not exist or cannot be executed. kpt writes `unexpected function error: ` before it.
    #[error(transparent)]
    NotStarted(#[from] StartError),
    /// Something that the function needs is missing.
    #[error(transparent)]
    Unavailable(Box<dyn Error + Send + Sync>),
    /// The runner does not know the function after all; another may. For runners that ask a peer first.
    #[error(transparent)]
    NotFound(Box<dyn Error + Send + Sync>),
    /// The function is not one that the runner runs, which it knows only now; the next evaluator is asked. The reason is
    /// reported only if no other evaluator knows the function.
    #[error(transparent)]
    Declined(Box<dyn Error + Send + Sync>),
    /// No evaluator that knows the function is allowed to run it.
    #[error(transparent)]
    Denied(Arc<dyn Error + Send + Sync>),
    /// The peer could not run the function, or reports no more than that it failed.
    #[error(transparent)]
    Remote(Box<dyn Error + Send + Sync>),
    /// It exceeded its time limit and was killed.
    #[error(
        "function did not finish within {} and was killed; a longer time can be given with --timeout",
        GoDuration::from_whole_millis(*timeout)
    )]
    TimedOut {
        timeout: Duration,
        /// stderr up to then.
        stderr: Vec<u8>,
    },
    /// It exceeded its output limit and was killed.
    #[error(
        "function wrote more than {limit} bytes and was killed; more can be allowed with --max-output"
    )]
    OutputTooLarge { limit: u64 },
    /// It exceeded a limit of the sandbox and was killed.
    #[error("function used more than {0} and was killed")]
    OverLimit(Excess),
    /// The caller cancelled, and it was killed.
    #[error("function was interrupted")]
    Cancelled,
    /// The operating system returned an error.
    #[error("{doing}")]
    Io {
        doing: &'static str,
        source: io::Error,
    },
}

/// Why a program could not be started, in Go's words.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StartError {
    /// The command line is empty.
    #[error("exec: no command")]
    NoCommand,
    /// No directory of the search path contains it.
    #[error(
        "exec: {}: executable file not found in $PATH",
        kiln_go::quote(program)
    )]
    NotOnPath { program: String },
    /// A relative directory of the search path contains it.
    #[error(
        "exec: {}: cannot run executable found relative to current directory",
        kiln_go::quote(program)
    )]
    RelativeToCurrentDirectory { program: String },
    /// The operating system did not start it.
    #[error("fork/exec {program}: {reason}")]
    ForkExec {
        program: String,
        /// The kind of the error, for hints.
        problem: ExecProblem,
        /// The message of the operating system.
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
