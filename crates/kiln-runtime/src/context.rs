//! What travels with a call: limits, deadline, and whether the caller still wants the answer.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::cancel::CancelToken;

/// The time a function has unless told otherwise.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// How much a function may write unless told otherwise, in bytes.
pub const DEFAULT_MAX_OUTPUT: u64 = 512 * 1024 * 1024;

/// The circumstances of a call.
#[derive(Clone, Debug, Default)]
pub struct RunContext {
    /// When the function is killed.
    pub deadline: Option<Deadline>,
    /// What it may use.
    pub limits: Limits,
    /// Tells that the caller has given up.
    pub cancel: CancelToken,
    /// Hears what the function prints besides as it prints it; it is in the outcome too.
    pub on_stderr: Option<StderrListener>,
}

/// Hears what a function prints, piece by piece. It must not block for long: the function waits.
#[derive(Clone)]
pub struct StderrListener {
    hear: Arc<Hear>,
}

type Hear = dyn Fn(&[u8]) + Send + Sync;

impl StderrListener {
    /// Calls `hear` with every piece.
    pub fn new(hear: impl Fn(&[u8]) + Send + Sync + 'static) -> StderrListener {
        StderrListener {
            hear: Arc::new(hear),
        }
    }

    /// Passes a piece on.
    pub fn hear(&self, piece: &[u8]) {
        (self.hear)(piece);
    }
}

impl fmt::Debug for StderrListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StderrListener").finish_non_exhaustive()
    }
}

/// A moment, and how long before it was set, which is what users know it by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Deadline {
    /// The moment.
    pub at: Instant,
    /// The time that was given.
    pub timeout: Duration,
}

/// What a function may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// How much it may write, output and talk together, in bytes.
    pub max_output: u64,
    /// How much memory it may have, in bytes; as much as there is if not given.
    pub memory: Option<u64>,
}

impl Deadline {
    /// The moment when `timeout` from now is over; none if that is beyond all time.
    pub fn after(timeout: Duration) -> Option<Deadline> {
        let at = Instant::now().checked_add(timeout)?;
        Some(Deadline { at, timeout })
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
