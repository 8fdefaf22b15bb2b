//! The port through which functions are run: what is to be run, what it gets, what comes of it.
//!
//! A [`Runtime`] finds a [`Runner`] for a [`FunctionSpec`]; a [`Chain`] asks several in order. A function that fails is
//! data ([`Outcome`] with its exit code and what it printed); [`RunError`] means that it could not be run to its end.
//!
//! Everything blocks the calling thread. Nothing here reads the environment or prints.

mod cancel;
mod chain;
mod context;
mod file_value;
mod function;
mod input;
mod outcome;
pub mod process;
mod runtime;

pub use cancel::{CancelGuard, CancelToken};
pub use chain::Chain;
pub use context::{
    DEFAULT_MAX_OUTPUT, DEFAULT_TIMEOUT, Deadline, Limits, RunContext, StderrListener, go_duration,
};
pub use file_value::{FileValue, FileValueError, Refresh};
pub use function::{FunctionSpec, Network, Target};
pub use input::Input;
pub use outcome::{Outcome, Output, RunError, StartError};
pub use runtime::{FindError, Runner, Runtime};
