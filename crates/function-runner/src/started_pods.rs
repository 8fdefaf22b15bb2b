//! The pod evaluator of a runner, once it is started.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use kiln_evaluators::FunctionConfigs;
use kiln_pages::status::PodsStatus;
use kiln_runtime::Evaluator;
use tokio::sync::watch;

/// An evaluator that runs functions in pods, and related state.
pub struct StartedPods {
    pub evaluator: Arc<dyn Evaluator>,
    /// The images that run without a pod.
    pub function_configs: Arc<dyn FunctionConfigs>,
    /// Whether functions can run in pods.
    pub usable: watch::Receiver<bool>,
    pub shut_down: ShutDown,
    /// Returns what is known about pods.
    pub status: PodsSource,
}

/// Returns what is known about pods, or that there was no answer in time.
pub type PodsSource = Arc<dyn Fn() -> PodsFuture + Send + Sync>;

/// The status of pods in the making.
pub type PodsFuture = Pin<Box<dyn Future<Output = PodsStatus> + Send>>;

/// Releases the pods to other replicas, if that takes no longer than the given time.
pub type ShutDown = Box<dyn FnOnce(Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send>;
