//! The settings of a call: limits, deadline and cancellation.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{fmt, mem};

use crate::cancel::CancelToken;

/// Default time limit of a function.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// Default limit of a function's output, in bytes.
pub const DEFAULT_MAX_OUTPUT: u64 = 512 * 1024 * 1024;

/// The settings of a call.
#[derive(Clone, Debug, Default)]
pub struct RunContext {
    /// When the function is killed.
    pub deadline: Option<Deadline>,
    pub limits: Limits,
    pub cancel: CancelToken,
    /// Receives stderr of the function while it runs; stderr is in the outcome too.
    pub on_stderr: Option<StderrListener>,
    /// Whether the identity is wanted even if that takes time, as for programs, whose files must be read.
    pub wants_identity: bool,
    pub answers: KeepAnswers,
    pub stopped_stderr: StoppedStderr,
}

/// What a function printed until it was stopped: there is no outcome that has it. Errors about the stop do not, because most
/// callers need only the reason.
#[derive(Clone, Debug, Default)]
pub struct StoppedStderr(Arc<Mutex<Vec<u8>>>);

impl StoppedStderr {
    /// For runners that stop a function.
    pub fn set(&self, stderr: Vec<u8>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = stderr;
    }

    /// Empty if no function was stopped, or if the runner does not know what it printed.
    pub fn take(&self) -> Vec<u8> {
        mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Whether the answer of a call may be kept and used again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum KeepAnswers {
    /// As the program is configured.
    #[default]
    AsConfigured,
    Never,
    /// Also if it is only assumed that the answer depends on nothing but the call.
    Assumed,
}

/// Receives stderr of a function, piece by piece. It must not block for long: the function waits.
#[derive(Clone)]
pub struct StderrListener {
    receive: Arc<OnStderr>,
}

type OnStderr = dyn Fn(&[u8]) + Send + Sync;

impl StderrListener {
    /// Calls `receive` with every piece.
    pub fn new(receive: impl Fn(&[u8]) + Send + Sync + 'static) -> StderrListener {
        StderrListener {
            receive: Arc::new(receive),
        }
    }

    pub fn receive(&self, piece: &[u8]) {
        (self.receive)(piece);
    }
}

impl fmt::Debug for StderrListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StderrListener").finish_non_exhaustive()
    }
}

/// A point in time, and the timeout that it was computed from, which messages name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Deadline {
    pub at: Instant,
    pub timeout: Duration,
}

/// Limits of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Limit of stdout and stderr together, in bytes.
    pub max_output: u64,
    /// Limit of memory, in bytes; `None` means no limit.
    pub memory: Option<u64>,
}

impl Deadline {
    /// The deadline `timeout` from now; `None` if it cannot be represented.
    pub fn after(timeout: Duration) -> Option<Deadline> {
        let at = Instant::now().checked_add(timeout)?;
        Some(Deadline { at, timeout })
    }

    /// The earlier one of a deadline and `max` from now.
    pub fn at_most(deadline: Option<Deadline>, max: Option<Duration>) -> Option<Deadline> {
        let max = max.and_then(Deadline::after);
        deadline
            .into_iter()
            .chain(max)
            .min_by_key(|deadline| deadline.at)
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            max_output: DEFAULT_MAX_OUTPUT,
            memory: None,
        }
    }
}
