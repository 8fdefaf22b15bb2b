//! What a runner has of pods once they are started.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use kiln_evaluators::FunctionConfigs;
use kiln_runtime::Evaluator;
use tokio::sync::watch;

/// An evaluator that runs functions in pods, and what goes with it.
pub struct StartedPods {
    /// Runs images in pods.
    pub evaluator: Arc<dyn Evaluator>,
    /// What the cluster says runs images without a pod.
    pub function_configs: Arc<dyn FunctionConfigs>,
    /// Whether functions can be run in pods, now and from now on.
    pub usable: watch::Receiver<bool>,
    /// Ends it.
    pub shut_down: ShutDown,
}

/// Releases the pods to other replicas, if that takes no longer than the given time.
pub type ShutDown = Box<dyn FnOnce(Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send>;
