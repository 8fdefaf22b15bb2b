//! Everything that runs functions, in the order in which it is asked.

use std::sync::Arc;

use kiln_container::ContainerRuntime;
use kiln_runtime::{Chain, FindError, FunctionSpec, Runner, Runtime};

/// What needs no container engine, and what does.
pub(super) struct Runtimes {
    pub(super) local: Chain,
    pub(super) container: ContainerRuntime,
}

impl Runtimes {
    /// Whether nothing but a container engine can run an image.
    pub(super) fn needs_engine(&self, image: &str) -> bool {
        let found = self.local.find(&FunctionSpec::image(image));
        matches!(found, Err(FindError::NotFound { .. }))
    }
}

impl Runtime for Runtimes {
    fn find(&self, function: &FunctionSpec) -> Result<Arc<dyn Runner>, FindError> {
        match self.local.find(function) {
            Err(FindError::NotFound { .. }) => self.container.find(function),
            answer => answer,
        }
    }
}
