//! The runtimes of a server, by name and in order.

use std::sync::Arc;

use kiln_runtime::{FindError, FunctionSpec, Runner, Runtime};

/// Runtimes in the order in which they are asked. "Not found" goes on to the next, every other answer is final.
#[derive(Clone, Default)]
pub struct Evaluators {
    evaluators: Vec<Evaluator>,
}

/// A runtime that functions are looked for in.
#[derive(Clone)]
pub struct Evaluator {
    /// As logs and answers call it.
    pub name: &'static str,
    /// What finds and runs functions.
    pub runtime: Arc<dyn Runtime>,
    /// How failures are told.
    pub words: Words,
    /// Whether it can run anything at all. One that cannot is still named to callers whose function was not found.
    pub is_usable: bool,
}

/// How failures of functions are told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Words {
    /// As the runner tells of programs: by their exit and what they printed.
    Runner,
    /// As the wrapper in a pod does: by their results.
    Wrapper,
}

/// A function that was found.
pub(crate) struct Found {
    pub(crate) evaluator: &'static str,
    pub(crate) words: Words,
    pub(crate) runner: Arc<dyn Runner>,
}

impl Evaluators {
    /// Evaluators, the first to be asked first.
    pub fn new(evaluators: Vec<Evaluator>) -> Evaluators {
        Evaluators { evaluators }
    }

    /// Whether any function can be run.
    pub fn can_evaluate(&self) -> bool {
        self.evaluators.iter().any(|evaluator| evaluator.is_usable)
    }

    /// The names in order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.evaluators.iter().map(|evaluator| evaluator.name)
    }

    /// Looks for an image.
    pub(crate) fn find(&self, image: &str) -> Result<Found, FindError> {
        let function = FunctionSpec::image(image);
        for evaluator in &self.evaluators {
            match evaluator.runtime.find(&function) {
                Err(FindError::NotFound { .. }) => {}
                Err(error) => return Err(error),
                Ok(runner) => {
                    return Ok(Found {
                        evaluator: evaluator.name,
                        words: evaluator.words,
                        runner,
                    });
                }
            }
        }
        Err(FindError::not_found(&function))
    }
}
