//! Several runtimes in order: "not found" goes on to the next, every other answer is final.

use std::sync::Arc;

use crate::function::FunctionSpec;
use crate::runtime::{FindError, Runner, Runtime};

/// Runtimes in the order in which they are asked. An empty chain finds nothing.
#[derive(Default)]
pub struct Chain {
    runtimes: Vec<Box<dyn Runtime>>,
}

impl Chain {
    /// A chain of runtimes, the first to be asked first.
    pub fn new(runtimes: Vec<Box<dyn Runtime>>) -> Chain {
        Chain { runtimes }
    }
}

impl Runtime for Chain {
    fn find(&self, function: &FunctionSpec) -> Result<Arc<dyn Runner>, FindError> {
        for runtime in &self.runtimes {
            match runtime.find(function) {
                Err(FindError::NotFound { .. }) => {}
                answer => return answer,
            }
        }
        Err(FindError::not_found(function))
    }
}

#[cfg(test)]
mod tests;
