//! The port through which functions are run: what to run, its input and its outcome.
//!
//! An [`Evaluator`] finds a function by its [`FunctionSpec`]; what it [`Found`] runs on the calling thread ([`Runner`])
//! or elsewhere ([`AsyncRunner`]). An [`EvaluatorChain`] asks several evaluators in order. A function that fails is
//! data ([`Outcome`] with exit code and output); [`RunError`] means that the function did not run to its end.
//!
//! Nothing here reads the environment or prints.

#![allow(
    missing_docs,
    reason = "a field or variant whose name is clear has no comment"
)]

mod blocking;
mod cancel;
mod chain;
mod context;
mod evaluator;
mod file_value;
mod function;
mod input;
mod outcome;
pub mod process;

pub use cancel::{CancelGuard, CancelToken};
pub use chain::{EvaluatorChain, Search};
pub use context::{
    DEFAULT_MAX_OUTPUT, DEFAULT_TIMEOUT, Deadline, Limits, RunContext, StderrListener,
};
pub use evaluator::{AsyncRunner, Evaluator, FindError, Found, RunFuture, Runner};
pub use file_value::{FileValue, FileValueError, Refresh};
pub use function::{FunctionSpec, Network, Target};
pub use input::Input;
pub use outcome::{ExecProblem, Outcome, Output, RunError, StartError};
