//! The one port through which functions are run: an [`Evaluator`] finds a function, what it [`Found`] runs it.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::blocking::BlockingRunner;
use crate::context::{Deadline, RunContext};
use crate::function::FunctionSpec;
use crate::input::Input;
use crate::outcome::{Outcome, RunError};
use crate::reproducible::ReproducibleCall;

/// Runs functions: built in, as programs, in containers, in pods or by another runner.
pub trait Evaluator: Send + Sync {
    /// Finds the runner of a function. Finding is cheap and starts nothing, so that all functions of a pipeline can be
    /// found before the first one runs.
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError>;

    /// Whether it may know functions that it is not allowed to run ([`FindError::Denied`]). Callers that run several functions
    /// then find all of them before the first one runs.
    fn may_deny(&self) -> bool {
        false
    }
}

impl<T: Evaluator + ?Sized> Evaluator for Arc<T> {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        (**self).find(function)
    }

    fn may_deny(&self) -> bool {
        (**self).may_deny()
    }
}

/// A function that was found, by how it runs.
#[derive(Clone)]
pub enum Found {
    /// It runs on the calling thread.
    Blocking(Arc<dyn Runner>),
    /// It runs elsewhere, without blocking a thread here.
    Async(Arc<dyn AsyncRunner>),
}

impl Found {
    pub fn blocking(runner: impl Runner + 'static) -> Found {
        Found::Blocking(Arc::new(runner))
    }

    /// The time limit of the function, whatever the caller allows.
    pub fn max_time(&self) -> Option<Duration> {
        match self {
            Found::Blocking(runner) => runner.max_time(),
            Found::Async(runner) => runner.max_time(),
        }
    }

    /// The function for callers that may block: waits for a function that runs elsewhere.
    pub fn into_runner(self) -> Arc<dyn Runner> {
        match self {
            Found::Blocking(runner) => runner,
            Found::Async(runner) => Arc::new(BlockingRunner(runner)),
        }
    }
}

/// A function ready to be run on the calling thread, any number of times and from any thread.
pub trait Runner: Send + Sync {
    /// Runs the function to its end.
    fn run(&self, input: &Input<'_>, ctx: &RunContext) -> Result<Outcome, RunError>;

    /// Finds out whether the function is allowed to run, as far as only a request can show that. [`Runner::run`] does the same
    /// first; it is for callers that run several functions, before the first one runs.
    fn check_permission(&self, ctx: &RunContext) -> Result<(), RunError> {
        let _ = ctx;
        Ok(())
    }

    /// Whether the function only computes its answer, so that order and number of runs cannot be observed. Such
    /// functions run in parallel by default; all others only if the user asks for it.
    fn is_native(&self) -> bool {
        false
    }

    /// Whether the function is a WebAssembly module, which can reach nothing but its input and needs no permission to run.
    fn is_module(&self) -> bool {
        false
    }

    /// The image by which another process of the same program finds this function; `None` if only this process can run
    /// it.
    fn worker_image(&self) -> Option<&str> {
        None
    }

    /// What the answer depends on besides the input; `None` if on more than is known, or if the function cannot run.
    /// Callers that keep the answer compare the identity with that of the outcome: the function may change meanwhile.
    fn reproducible(&self, ctx: &RunContext) -> Option<ReproducibleCall> {
        let _ = ctx;
        None
    }

    /// The time limit of the function, whatever the caller allows. [`Runner::run`] applies it; it is for callers that run
    /// the function in another way, and for those that wait.
    fn max_time(&self) -> Option<Duration> {
        None
    }
}

/// A function ready to be run elsewhere, any number of times and from any thread.
pub trait AsyncRunner: Send + Sync {
    /// Runs the function on a list as it was received. Neither the list nor the answer is parsed. Dropping the future
    /// cancels the call. The caller enforces the deadline; the peer that runs the function gets it too.
    fn run(&self, list: Bytes, deadline: Option<Deadline>) -> RunFuture<'_>;

    /// The time limit of the function, whatever the caller allows. The caller lowers its deadline to it.
    fn max_time(&self) -> Option<Duration> {
        None
    }
}

/// The result of a function that runs elsewhere.
pub type RunFuture<'a> = Pin<Box<dyn Future<Output = Result<Outcome, RunError>> + Send + 'a>>;

/// Why a function was not found.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// The evaluator does not know the function; another may.
    #[error("function {} not found", kiln_go::quote(name))]
    NotFound { name: String },
    /// The evaluator knows the function but cannot run it.
    #[error(transparent)]
    Refused(Box<dyn Error + Send + Sync>),
    /// The evaluator knows the function and is not allowed to run it; another may be. Returned if no other evaluator runs
    /// the function.
    #[error(transparent)]
    Denied(Arc<dyn Error + Send + Sync>),
}

impl FindError {
    /// The error of an evaluator that does not know the function.
    pub fn not_found(function: &FunctionSpec) -> FindError {
        FindError::NotFound {
            name: function.name().to_owned(),
        }
    }

    /// The error of an evaluator that knows the function but cannot run it.
    pub fn refused(error: impl Error + Send + Sync + 'static) -> FindError {
        FindError::Refused(Box::new(error))
    }

    /// The error of an evaluator that is not allowed to run the function.
    pub fn denied(error: impl Error + Send + Sync + 'static) -> FindError {
        FindError::Denied(Arc::new(error))
    }
}
