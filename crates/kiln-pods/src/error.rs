//! Why there is no answer from a pod.

use std::sync::Arc;
use std::time::Duration;

use tonic::Status;

use crate::state::{Failure, Fault};

/// What is wrong with an image that no registry knows.
pub(crate) const IMAGE_NOT_FOUND: &str = "ImageNotFound";

/// Why there is no answer from a pod.
#[derive(Debug, thiserror::Error)]
pub enum PodError {
    /// The wrapper in the pod says so: the function failed, or the call is not one that it takes. To be passed on whole.
    #[error("{}", .0.message())]
    Status(Box<Status>),
    /// No registry knows the image.
    #[error("unable to get the entrypoint for {image}: {message}")]
    ImageNotFound {
        /// The image.
        image: String,
        /// What the registry says.
        message: String,
    },
    /// There is no pod for the image.
    #[error("unable to get the grpc client to the pod for {image}: {fault}")]
    NoPod {
        /// The image.
        image: String,
        /// What is wrong with the last one.
        fault: Fault,
    },
    /// The pod was lost during the call, and the function may have run.
    #[error(
        "unable to evaluate {image} with pod evaluator: the pod was lost during the call: {fault}"
    )]
    Interrupted {
        /// The image.
        image: String,
        /// What happened to the pod.
        fault: Fault,
    },
    /// The time is up.
    #[error("function evaluation timed out for {image} after {}{}", kiln_runtime::go_duration(*timeout), because(trouble.as_deref()))]
    TimedOut {
        /// The image.
        image: String,
        /// How long it was.
        timeout: Duration,
        /// Why there was no pod, if that is known.
        trouble: Option<Arc<str>>,
    },
    /// The runner is ending.
    #[error("the function runner is shutting down")]
    Draining,
}

impl PodError {
    pub(crate) fn from_failure(image: &str, failure: Failure) -> PodError {
        let image = image.to_owned();
        match failure {
            Failure::NoPod(fault) if &*fault.reason == IMAGE_NOT_FOUND => PodError::ImageNotFound {
                image,
                message: fault.message.to_string(),
            },
            Failure::NoPod(fault) => PodError::NoPod { image, fault },
            Failure::Interrupted(fault) => PodError::Interrupted { image, fault },
            Failure::Draining => PodError::Draining,
        }
    }
}

fn because(trouble: Option<&str>) -> String {
    trouble.map_or_else(String::new, |trouble| format!(": {trouble}"))
}

/// Why pods cannot be used at all.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Nobody says where the cluster is.
    #[error("no Kubernetes cluster is configured")]
    NoCluster(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// It does not answer, or not as it should.
    #[error("the Kubernetes cluster cannot be used: {0}")]
    Unusable(String),
    /// The proxy that a kubeconfig names is none that is known how to talk to.
    #[error(
        "proxy-url of the kubeconfig names no proxy that can be used: it has to be http://[USER:PASSWORD@]HOST[:PORT]"
    )]
    Proxy,
    /// The file with settings per image cannot be used.
    #[error("pod cache config {path}: {reason}")]
    CacheConfig {
        /// The file.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
}
