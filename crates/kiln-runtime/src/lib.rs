//! The port through which functions are run: what to run, its input and its outcome.
//!
//! An [`Evaluator`] finds a function by its [`FunctionSpec`]; what it [`Found`] runs on the calling thread ([`Runner`])
//! or elsewhere ([`AsyncRunner`]). An [`EvaluatorChain`] asks several evaluators in order. A function that fails is
//! data ([`Outcome`] with exit code and output); [`RunError`] means that the function did not run to its end.
//!
//! Nothing here reads the environment or prints.

mod blocking;
mod cancel;
mod chain;
mod context;
mod evaluator;
mod file_value;
mod function;
mod identity;
mod input;
mod mount;
mod outcome;
mod peer;
pub mod process;
mod reproducible;

pub use cancel::{CancelGuard, CancelToken};
pub use chain::{EvaluatorChain, NotFoundThenUnavailable, Search};
pub use context::{
    DEFAULT_MAX_OUTPUT, DEFAULT_TIMEOUT, Deadline, KeepAnswers, Limits, RunContext, StderrListener,
    StoppedStderr,
};
pub use evaluator::{AsyncRunner, Evaluator, FindError, Found, RunFuture, Runner};
pub use file_value::{FileValue, FileValueError, MadeValue, Refresh};
pub use function::{FunctionPin, FunctionSpec, Network, Target};
pub use identity::{FunctionIdentity, RANDOM};
pub use input::Input;
pub use mount::Mount;
pub use outcome::{ExecProblem, Outcome, Output, RunError, StartError};
pub use peer::{PeerError, PeerProblem};
pub use reproducible::{Certainty, ReproducibleCall};
