//! The runtimes of a server, by name and in order.

use std::sync::Arc;

use kiln_runtime::{FindError, FunctionSpec, Runner, Runtime};
use tokio::sync::watch;

use crate::forward::{ChosenForwarder, Forwarder};
use crate::workers::WorkerPool;

/// Runtimes in the order in which they are asked. "Not found" goes on to the next, every other answer is final.
#[derive(Clone, Default)]
pub struct Evaluators {
    evaluators: Vec<Evaluator>,
    forwarder: Option<(&'static str, Arc<dyn Forwarder>)>,
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
    /// Processes that run its functions; without any they run in this process.
    pub workers: Option<Arc<WorkerPool>>,
}

/// How failures of functions are told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Words {
    /// As the runner tells of programs: by their exit and what they printed.
    Runner,
    /// As the wrapper in a pod does: by their results.
    Wrapper,
}

/// Who runs a function.
pub(crate) enum Chosen {
    /// It was found here.
    Here(Found),
    /// It is passed on.
    Elsewhere(ChosenForwarder),
}

/// A function that was found.
pub(crate) struct Found {
    pub(crate) evaluator: &'static str,
    pub(crate) words: Words,
    pub(crate) runner: Arc<dyn Runner>,
    pub(crate) workers: Option<Arc<WorkerPool>>,
}

impl Evaluators {
    /// Evaluators, the first to be asked first.
    pub fn new(evaluators: Vec<Evaluator>) -> Evaluators {
        Evaluators {
            evaluators,
            forwarder: None,
        }
    }

    /// Passes on to somebody else whatever none of these has.
    pub fn with_forwarder(self, name: &'static str, forwarder: Arc<dyn Forwarder>) -> Evaluators {
        Evaluators {
            forwarder: Some((name, forwarder)),
            ..self
        }
    }

    /// The names in order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let forwarder = self.forwarder.iter().map(|(name, _)| *name);
        let evaluators = self.evaluators.iter().map(|evaluator| evaluator.name);
        evaluators.chain(forwarder)
    }

    /// Whether functions can be run, now and from now on. A server that has lost its workers cannot: other replicas
    /// should get its calls.
    pub(crate) fn usable(&self) -> watch::Receiver<bool> {
        let workers = self.evaluators.iter().find_map(|it| it.workers.as_ref());
        if let Some(workers) = workers {
            return workers.usable();
        }
        let is_usable = self.evaluators.iter().any(|evaluator| evaluator.is_usable);
        match &self.forwarder {
            Some((_, forwarder)) if !is_usable => forwarder.usable(),
            _ => watch::Sender::new(is_usable).subscribe(),
        }
    }

    /// Looks for an image.
    pub(crate) fn choose(&self, image: &str) -> Result<Chosen, FindError> {
        let function = FunctionSpec::image(image);
        for evaluator in &self.evaluators {
            match evaluator.runtime.find(&function) {
                Err(FindError::NotFound { .. }) => {}
                Err(error) => return Err(error),
                Ok(runner) => {
                    return Ok(Chosen::Here(Found {
                        evaluator: evaluator.name,
                        words: evaluator.words,
                        runner,
                        workers: evaluator.workers.clone(),
                    }));
                }
            }
        }
        match &self.forwarder {
            Some((name, forwarder)) => Ok(Chosen::Elsewhere(ChosenForwarder {
                name,
                forwarder: Arc::clone(forwarder),
                asked: self.names().collect::<Vec<_>>().join(", "),
            })),
            None => Err(FindError::not_found(&function)),
        }
    }
}
