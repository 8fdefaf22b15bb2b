//! The pod evaluator of a runner, once it is started.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use kiln_evaluators::FunctionConfigs;
use kiln_runtime::Evaluator;
use tokio::sync::watch;

/// An evaluator that runs functions in pods, and related state.
pub struct StartedPods {
    pub evaluator: Arc<dyn Evaluator>,
    /// The images that run without a pod.
    pub function_configs: Arc<dyn FunctionConfigs>,
    /// Whether functions can run in pods.
    pub usable: watch::Receiver<bool>,
    /// Stops it.
    pub shut_down: ShutDown,
}

/// Releases the pods to other replicas, if that takes no longer than the given time.
pub type ShutDown = Box<dyn FnOnce(Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send>;
