//! Several evaluators in order (Porch's multi-evaluator), and the one rule for "not found".
//!
//! An evaluator that does not know a function passes it on to the next; every other answer is final. Some evaluators
//! know at once ([`FindError::NotFound`]), some only after a request to a peer ([`RunError::NotFound`],
//! [`RunError::Declined`]): the rule is the same. An evaluator that is not allowed to run a function
//! ([`FindError::Denied`]) is passed over too, but then the end of the search is that it is not allowed. [`Search`]
//! implements the rule and runs nothing, so that callers that block and callers that do not share it.

use std::error::Error;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use crate::context::RunContext;
use crate::evaluator::{Evaluator, FindError, Found, Runner};
use crate::function::FunctionSpec;
use crate::input::Input;
use crate::outcome::{Outcome, RunError};

/// Evaluators with their names, in the order in which they are asked. An empty chain finds nothing.
#[derive(Clone, Default)]
pub struct EvaluatorChain {
    entries: Arc<[NamedEvaluator]>,
}

type NamedEvaluator = (&'static str, Arc<dyn Evaluator>);

impl EvaluatorChain {
    /// The first evaluator is asked first.
    pub fn new(entries: Vec<(&'static str, Arc<dyn Evaluator>)>) -> EvaluatorChain {
        EvaluatorChain {
            entries: entries.into(),
        }
    }

    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.entries.iter().map(|(name, _)| *name)
    }

    /// Searches for a function. Returns the search and the result of the first evaluator that knows the function.
    pub fn search(&self, function: &FunctionSpec) -> Result<(Search, Found), FindError> {
        let mut search = Search {
            entries: Arc::clone(&self.entries),
            function: function.clone(),
            next: 0,
            not_found: None,
            denied: None,
        };
        let found = search.advance()?;
        Ok((search, found))
    }
}

/// A search for a function along a chain, after the evaluator that last found it.
#[derive(Clone)]
pub struct Search {
    entries: Arc<[NamedEvaluator]>,
    function: FunctionSpec,
    next: usize,
    /// The last "not found" that was returned by a run.
    not_found: Option<Arc<dyn Error + Send + Sync>>,
    /// Why the first evaluator that is not allowed to run the function was passed over.
    denied: Option<Arc<dyn Error + Send + Sync>>,
}

impl Search {
    /// The name of the evaluator that last found the function.
    pub fn evaluator(&self) -> &'static str {
        let entry = self
            .next
            .checked_sub(1)
            .and_then(|last| self.entries.get(last));
        entry.map_or("", |(name, _)| name)
    }

    /// Decides by the result of a run: the search is over, or it continues with what the next evaluator found.
    pub fn settle<T>(
        &mut self,
        ran: Result<T, RunError>,
    ) -> ControlFlow<Result<T, RunError>, Found> {
        ControlFlow::Break(match (ran, self.not_found.take()) {
            (Err(RunError::Declined(reason)), not_found) => match self.advance() {
                Ok(found) => {
                    self.not_found = not_found;
                    return ControlFlow::Continue(found);
                }
                Err(FindError::NotFound { .. }) => Err(RunError::NotFound(reason)),
                Err(FindError::Denied(error)) => Err(RunError::Denied(error)),
                Err(FindError::Refused(error)) => Err(RunError::Unavailable(error)),
            },
            (Err(RunError::NotFound(not_found)), _) => match self.advance() {
                Ok(found) => {
                    self.not_found = Some(not_found.into());
                    return ControlFlow::Continue(found);
                }
                // The evaluator asked last knows most.
                Err(FindError::NotFound { .. }) => Err(RunError::NotFound(not_found)),
                Err(FindError::Denied(error)) => Err(RunError::Denied(error)),
                Err(FindError::Refused(error)) => Err(unavailable(not_found.into(), error)),
            },
            (Err(RunError::Unavailable(error)), Some(not_found)) => {
                Err(unavailable(not_found, error))
            }
            (ran, _) => ran,
        })
    }

    /// The result of the next evaluator that knows the function.
    fn advance(&mut self) -> Result<Found, FindError> {
        while let Some((_, evaluator)) = self.entries.get(self.next) {
            self.next += 1;
            match evaluator.find(&self.function) {
                Err(FindError::NotFound { .. }) => {}
                Err(FindError::Denied(error)) => {
                    self.denied.get_or_insert(error);
                }
                found => return found,
            }
        }
        Err(match &self.denied {
            Some(denied) => FindError::Denied(Arc::clone(denied)),
            None => FindError::not_found(&self.function),
        })
    }
}

/// For callers that may block: the search continues inside the runner.
impl Evaluator for EvaluatorChain {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        let (search, found) = self.search(function)?;
        let first = found.into_runner();
        // Without a denial to remember and with nothing left to ask, the runner itself is enough.
        let is_over = search.denied.is_none() && search.next == self.entries.len();
        Ok(match is_over {
            true => Found::Blocking(first),
            false => Found::blocking(ChainRunner { search, first }),
        })
    }

    fn may_deny(&self) -> bool {
        let mut evaluators = self.entries.iter().map(|(_, evaluator)| evaluator);
        evaluators.any(|evaluator| evaluator.may_deny())
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

    fn check_permission(&self, ctx: &RunContext) -> Result<(), RunError> {
        self.first.check_permission(ctx)
    }

    fn is_native(&self) -> bool {
        self.first.is_native()
    }

    fn is_module(&self) -> bool {
        self.first.is_module()
    }

    fn max_time(&self) -> Option<Duration> {
        self.first.max_time()
    }
}

/// One evaluator did not know the function, and the next could not run it.
#[derive(Debug, thiserror::Error)]
#[error("{not_found}; {error}")]
pub struct NotFoundThenUnavailable {
    pub not_found: Arc<dyn Error + Send + Sync>,
    pub error: Box<dyn Error + Send + Sync>,
}

fn unavailable(
    not_found: Arc<dyn Error + Send + Sync>,
    error: Box<dyn Error + Send + Sync>,
) -> RunError {
    RunError::Unavailable(Box::new(NotFoundThenUnavailable { not_found, error }))
}

#[cfg(test)]
mod tests;
