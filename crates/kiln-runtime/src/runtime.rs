//! The two traits: finding a function, and running it.

use std::error::Error;
use std::sync::Arc;

use crate::context::RunContext;
use crate::function::FunctionSpec;
use crate::input::Input;
use crate::outcome::{Outcome, RunError};

/// A way of running functions.
pub trait Runtime: Send + Sync {
    /// What runs the function. Finding is cheap and starts nothing, so that all functions of a pipeline can be found
    /// before the first one runs.
    fn find(&self, function: &FunctionSpec) -> Result<Arc<dyn Runner>, FindError>;
}

impl<T: Runtime + ?Sized> Runtime for Arc<T> {
    fn find(&self, function: &FunctionSpec) -> Result<Arc<dyn Runner>, FindError> {
        (**self).find(function)
    }
}

/// A function ready to be run, any number of times and from any thread.
pub trait Runner: Send + Sync {
    /// Runs the function to its end.
    fn run(&self, input: &Input<'_>, ctx: &RunContext) -> Result<Outcome, RunError>;

    /// Whether all that it does is to answer, so that nobody can tell in which order, or how often, it ran. Such
    /// functions run beside each other unasked; all others only if the user says so.
    fn is_native(&self) -> bool {
        false
    }

    /// The image by which another process of the same program finds this function; none if only this process can run it.
    fn worker_image(&self) -> Option<&str> {
        None
    }
}

/// Why there is no runner.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// The runtime does not know the function; another may.
    #[error("function {} not found", kiln_krm::gotext::quote(name))]
    NotFound {
        /// What the function is called.
        name: String,
    },
    /// The runtime knows the function and cannot run it.
    #[error(transparent)]
    Refused(Box<dyn Error + Send + Sync>),
}

impl FindError {
    /// The answer of a runtime that does not know the function.
    pub fn not_found(function: &FunctionSpec) -> FindError {
        FindError::NotFound {
            name: function.name().to_owned(),
        }
    }

    /// The answer of a runtime that knows better.
    pub fn refused(error: impl Error + Send + Sync + 'static) -> FindError {
        FindError::Refused(Box::new(error))
    }
}
