//! The errors of the pod evaluator.

use std::sync::Arc;
use std::time::Duration;

use kiln_proto::SHUTTING_DOWN;
use kiln_runtime::RunError;
use tonic::Status;

use crate::pool::{PodFault, RequestFailure};

/// Reason of the fault of an image that no registry has.
pub(crate) const IMAGE_NOT_FOUND: &str = "ImageNotFound";

/// Why a call to a pod failed.
#[derive(Debug, thiserror::Error)]
pub enum PodError {
    /// The wrapper in the pod returned this status: the function failed, or the request was invalid.
    #[error("{}", .0.message())]
    Status(Box<Status>),
    /// No registry has the image.
    #[error("unable to get the entrypoint for {image}: {message}")]
    ImageNotFound { image: String, message: String },
    /// No pod could be started for the image.
    #[error("unable to get the grpc client to the pod for {image}: {fault}")]
    NoPod {
        image: String,
        /// The fault of the last pod.
        fault: PodFault,
    },
    /// The pod was lost during the call; the function may have run.
    #[error(
        "unable to evaluate {image} with pod evaluator: the pod was lost during the call: {fault}"
    )]
    Interrupted {
        image: String,
        /// Why the pod was lost.
        fault: PodFault,
    },
    /// The time limit of the call has passed.
    #[error("function evaluation timed out for {image} after {}{}", kiln_go::GoDuration::from_whole_millis(*timeout), delay_suffix(delay.as_deref()))]
    TimedOut {
        image: String,
        timeout: Duration,
        /// Why there was no pod, if known.
        delay: Option<Arc<str>>,
    },
    #[error("the function runner is shutting down")]
    Draining,
}

impl PodError {
    pub(crate) fn from_failure(image: &str, failure: RequestFailure) -> PodError {
        let image = image.to_owned();
        match failure {
            RequestFailure::NoPod(fault) if &*fault.reason == IMAGE_NOT_FOUND => {
                PodError::ImageNotFound {
                    image,
                    message: fault.message.to_string(),
                }
            }
            RequestFailure::NoPod(fault) => PodError::NoPod { image, fault },
            RequestFailure::Interrupted(fault) => PodError::Interrupted { image, fault },
            RequestFailure::Draining => PodError::Draining,
        }
    }
}

/// What a server passes on: the pod's status unchanged, or one with the text of the error.
impl From<PodError> for RunError {
    fn from(error: PodError) -> RunError {
        let text = error.to_string();
        RunError::Remote(match error {
            PodError::ImageNotFound { .. } => return RunError::NotFound(Box::new(error)),
            PodError::Status(status) => status,
            PodError::NoPod { .. } | PodError::Interrupted { .. } => {
                Box::new(Status::unavailable(text))
            }
            PodError::TimedOut { .. } => Box::new(Status::deadline_exceeded(text)),
            PodError::Draining => Box::new(Status::unavailable(SHUTTING_DOWN)),
        })
    }
}

fn delay_suffix(delay: Option<&str>) -> String {
    delay.map_or_else(String::new, |delay| format!(": {delay}"))
}

/// Why the pod evaluator did not start.
#[derive(Debug, thiserror::Error)]
pub enum PodStartError {
    /// Neither a kubeconfig nor a service account was found.
    #[error("no Kubernetes cluster is configured")]
    NoCluster(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// No client can be built for the cluster.
    #[error("cannot use the Kubernetes cluster: {0}")]
    Unusable(String),
    /// The kubeconfig names a proxy of an unsupported kind.
    #[error(
        "unsupported proxy-url in the kubeconfig: it must be http://[USER:PASSWORD@]HOST[:PORT]"
    )]
    Proxy,
    /// The pod cache config file is invalid.
    #[error("pod cache config {path}: {reason}")]
    CacheConfig { path: String, reason: String },
}
