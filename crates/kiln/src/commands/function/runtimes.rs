//! Everything that runs functions, in the order in which it is asked.

use std::sync::Arc;

use kiln_container::ContainerRuntime;
use kiln_remote::RemoteRuntime;
use kiln_runtime::{Chain, FindError, FunctionSpec, Runner, Runtime};

/// What runs here, then a runner elsewhere, then the container engine.
pub(super) struct Runtimes {
    local: Arc<Chain>,
    has_runner: bool,
    pub(super) container: Arc<ContainerRuntime>,
    all: Chain,
}

impl Runtimes {
    pub(super) fn new(
        local: Chain,
        runner: Option<RemoteRuntime>,
        container: ContainerRuntime,
    ) -> Runtimes {
        let (local, container) = (Arc::new(local), Arc::new(container));
        let has_runner = runner.is_some();
        let mut all: Vec<Box<dyn Runtime>> = vec![Box::new(Arc::clone(&local))];
        all.extend(runner.map(|runner| Box::new(runner) as Box<dyn Runtime>));
        all.push(Box::new(Arc::clone(&container)));
        Runtimes {
            local,
            has_runner,
            container,
            all: Chain::new(all),
        }
    }

    /// Whether nothing but a container engine can run an image.
    pub(super) fn needs_engine(&self, image: &str) -> bool {
        let found = self.local.find(&FunctionSpec::image(image));
        !self.has_runner && matches!(found, Err(FindError::NotFound { .. }))
    }
}

impl Runtime for Runtimes {
    fn find(&self, function: &FunctionSpec) -> Result<Arc<dyn Runner>, FindError> {
        self.all.find(function)
    }
}
