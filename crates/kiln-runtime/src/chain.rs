//! Several evaluators in order, Porch's multi-evaluator, and the one rule about "not found".
//!
//! An evaluator that does not know a function passes it on to the next; every other answer is final. Some know at once
//! ([`FindError::NotFound`]), some only when they have asked elsewhere ([`RunError::NotFound`]): the rule is the same.
//! [`Search`] is that rule and runs nothing, so that callers that block and callers that do not share it.

use std::error::Error;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::context::RunContext;
use crate::evaluator::{Evaluator, FindError, Found, Runner};
use crate::function::FunctionSpec;
use crate::input::Input;
use crate::outcome::{Outcome, RunError};

/// Evaluators with their names, in the order in which they are asked. An empty chain finds nothing.
#[derive(Clone, Default)]
pub struct EvaluatorChain {
    entries: Arc<[Entry]>,
}

type Entry = (&'static str, Arc<dyn Evaluator>);

impl EvaluatorChain {
    /// A chain of evaluators by name. The first is asked first.
    pub fn new(entries: Vec<(&'static str, Arc<dyn Evaluator>)>) -> EvaluatorChain {
        EvaluatorChain {
            entries: entries.into(),
        }
    }

    /// The names of the evaluators in order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.entries.iter().map(|(name, _)| *name)
    }

    /// Looks for a function: the search, and what the first evaluator that knows the function found.
    pub fn search(&self, function: &FunctionSpec) -> Result<(Search, Found), FindError> {
        let mut search = Search {
            entries: Arc::clone(&self.entries),
            function: function.clone(),
            next: 0,
            not_found: None,
        };
        let found = search.advance()?;
        Ok((search, found))
    }
}

/// The search for a function along a chain. It stands behind the evaluator that found the function last.
#[derive(Clone)]
pub struct Search {
    entries: Arc<[Entry]>,
    function: FunctionSpec,
    next: usize,
    /// What the last evaluator said that only knew when it ran the function.
    not_found: Option<Arc<dyn Error + Send + Sync>>,
}

impl Search {
    /// The name of the evaluator that found the function last.
    pub fn evaluator(&self) -> &'static str {
        let entry = self
            .next
            .checked_sub(1)
            .and_then(|last| self.entries.get(last));
        entry.map_or("", |(name, _)| name)
    }

    /// Judges what came of running the function that was found last: the search is over, or goes on with what the next
    /// evaluator found.
    pub fn settle<T>(
        &mut self,
        ran: Result<T, RunError>,
    ) -> ControlFlow<Result<T, RunError>, Found> {
        ControlFlow::Break(match (ran, self.not_found.take()) {
            (Err(RunError::NotFound(not_found)), _) => match self.advance() {
                Ok(found) => {
                    self.not_found = Some(not_found.into());
                    return ControlFlow::Continue(found);
                }
                // The evaluator that was asked last knows most.
                Err(FindError::NotFound { .. }) => Err(RunError::NotFound(not_found)),
                Err(FindError::Refused(error)) => Err(unavailable(not_found.into(), error)),
            },
            (Err(RunError::Unavailable(error)), Some(not_found)) => {
                Err(unavailable(not_found, error))
            }
            (ran, _) => ran,
        })
    }

    /// What the next evaluator found that knows the function.
    fn advance(&mut self) -> Result<Found, FindError> {
        while let Some((_, evaluator)) = self.entries.get(self.next) {
            self.next += 1;
            match evaluator.find(&self.function) {
                Err(FindError::NotFound { .. }) => {}
                found => return found,
            }
        }
        Err(FindError::not_found(&self.function))
    }
}

/// For callers that may block: the search goes on inside the runner.
impl Evaluator for EvaluatorChain {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        let (search, found) = self.search(function)?;
        let first = found.into_runner();
        Ok(match search.next == self.entries.len() {
            true => Found::Blocking(first),
            false => Found::blocking(ChainRunner { search, first }),
        })
    }
}

struct ChainRunner {
    search: Search,
    first: Arc<dyn Runner>,
}

impl Runner for ChainRunner {
    fn run(&self, input: &Input<'_>, ctx: &RunContext) -> Result<Outcome, RunError> {
        let mut search = self.search.clone();
        let mut ran = self.first.run(input, ctx);
        loop {
            match search.settle(ran) {
                ControlFlow::Break(ran) => return ran,
                ControlFlow::Continue(found) => ran = found.into_runner().run(input, ctx),
            }
        }
    }

    fn is_native(&self) -> bool {
        self.first.is_native()
    }
}

/// One evaluator did not know the function, and the next could not run it.
#[derive(Debug, thiserror::Error)]
#[error("{not_found}; {error}")]
struct NotFoundThenUnavailable {
    not_found: Arc<dyn Error + Send + Sync>,
    error: Box<dyn Error + Send + Sync>,
}

fn unavailable(
    not_found: Arc<dyn Error + Send + Sync>,
    error: Box<dyn Error + Send + Sync>,
) -> RunError {
    RunError::Unavailable(Box::new(NotFoundThenUnavailable { not_found, error }))
}

#[cfg(test)]
mod tests;
