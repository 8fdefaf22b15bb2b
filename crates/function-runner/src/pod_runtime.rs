//! Where the pod runtime is put in.
//!
//! Only the program that runs in clusters has one; it is large, and `kiln serve` does without.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow};
use kiln_server::Forwarder;

use crate::config::Config;
use crate::environment::{Environment, WRAPPER_SERVER_IMAGE};
use crate::listed::Listed;

/// What runs functions in pods.
pub trait PodRuntime: Forwarder {
    /// What the cluster says runs images without a pod.
    fn listed(&self) -> Arc<dyn Listed>;

    /// Gives pods back to others, if that takes no longer than `patience`.
    fn shut_down(&self, patience: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// Makes a pod runtime of what flags say. It returns when it is known that there is a cluster.
pub type StartPods = for<'a> fn(&'a Config, &'a Environment) -> StartingPods<'a>;

/// A pod runtime that is about to be.
pub type StartingPods<'a> = Pin<Box<dyn Future<Output = Result<Arc<dyn PodRuntime>>> + Send + 'a>>;

/// How a function runner names it.
pub(crate) const NAME: &str = "pod";

/// The pod runtime, if it is turned on.
pub(crate) async fn start(
    config: &Config,
    environment: &Environment,
    start: Option<StartPods>,
) -> Result<Option<Arc<dyn PodRuntime>>> {
    if !config.runtimes.pod {
        return Ok(None);
    }
    if config.pods.wrapper_server_image.is_none() {
        return Err(anyhow!(
            "environment variable {WRAPPER_SERVER_IMAGE} must be set to use pod function evaluator runtime; \
             --disable-runtimes=pod turns it off"
        ));
    }
    let Some(start) = start else {
        return Err(anyhow!(
            "this program has no pod runtime (function-runner has); --disable-runtimes=pod turns it off"
        ));
    };
    start(config, environment).await.map(Some)
}
