//! Several runtimes in order: "not found" goes on to the next, every other answer is final.
//!
//! Some know only when they run a function that they do not have it ([`RunError::NotFound`]); that goes on to the next
//! just as well.

use std::error::Error;
use std::sync::Arc;

use crate::context::RunContext;
use crate::function::FunctionSpec;
use crate::input::Input;
use crate::outcome::{Outcome, RunError};
use crate::runtime::{FindError, Runner, Runtime};

/// Runtimes in the order in which they are asked. An empty chain finds nothing.
#[derive(Default)]
pub struct Chain {
    runtimes: Arc<[Box<dyn Runtime>]>,
}

impl Chain {
    /// A chain of runtimes, the first to be asked first.
    pub fn new(runtimes: Vec<Box<dyn Runtime>>) -> Chain {
        Chain {
            runtimes: runtimes.into(),
        }
    }
}

impl Runtime for Chain {
    fn find(&self, function: &FunctionSpec) -> Result<Arc<dyn Runner>, FindError> {
        let (runner, next) = find_from(&self.runtimes, 0, function)?;
        if next == self.runtimes.len() {
            return Ok(runner);
        }
        Ok(Arc::new(GoingOn {
            first: runner,
            function: function.clone(),
            runtimes: Arc::clone(&self.runtimes),
            next,
        }))
    }
}

/// The first runner from a place in the chain on, and the place behind its runtime.
fn find_from(
    runtimes: &[Box<dyn Runtime>],
    start: usize,
    function: &FunctionSpec,
) -> Result<(Arc<dyn Runner>, usize), FindError> {
    for (place, runtime) in runtimes.iter().enumerate().skip(start) {
        match runtime.find(function) {
            Ok(runner) => return Ok((runner, place + 1)),
            Err(FindError::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Err(FindError::not_found(function))
}

/// A runner, and where the search goes on if it does not know the function after all.
struct GoingOn {
    first: Arc<dyn Runner>,
    function: FunctionSpec,
    runtimes: Arc<[Box<dyn Runtime>]>,
    next: usize,
}

impl Runner for GoingOn {
    fn run(&self, input: &Input<'_>, ctx: &RunContext) -> Result<Outcome, RunError> {
        let mut ran = self.first.run(input, ctx);
        let mut next = self.next;
        while let Err(RunError::NotFound(not_found)) = ran {
            let runner = match find_from(&self.runtimes, next, &self.function) {
                Ok((runner, place)) => {
                    next = place;
                    runner
                }
                // The one who was asked last says most.
                Err(FindError::NotFound { .. }) => return Err(RunError::NotFound(not_found)),
                Err(FindError::Refused(error)) => return Err(unavailable(not_found, error)),
            };
            ran = match runner.run(input, ctx) {
                Err(RunError::Unavailable(error)) => Err(unavailable(not_found, error)),
                ran => ran,
            };
        }
        ran
    }

    fn is_native(&self) -> bool {
        self.first.is_native()
    }
}

/// One did not know the function, and the next could not run it.
#[derive(Debug, thiserror::Error)]
#[error("{not_found}; {error}")]
struct NobodyLeft {
    not_found: Box<dyn Error + Send + Sync>,
    error: Box<dyn Error + Send + Sync>,
}

fn unavailable(
    not_found: Box<dyn Error + Send + Sync>,
    error: Box<dyn Error + Send + Sync>,
) -> RunError {
    RunError::Unavailable(Box::new(NobodyLeft { not_found, error }))
}

#[cfg(test)]
mod tests;
