//! Errors of the API server.

use std::time::Duration;

use kiln_go::error_chain;

use crate::pool::{FaultScope, PodFault};

/// The reason that `kube` reports if the response is not a Kubernetes status.
const UNREADABLE: &str = "Failed to parse error data";

const TOO_MANY: u16 = 429;

/// The `Retry-After` of the API server's concurrency limiter. It is sent in a header that `kube` drops, and is always
/// this value.
const LIMITER_SECONDS: u32 = 1;

/// A failed request. With code zero the request may have been executed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct ApiError {
    /// The HTTP status; zero without a response.
    code: u16,
    /// One word, as in Kubernetes.
    reason: String,
    message: String,
    /// How long the server asks to wait.
    pub(crate) retry_after: Option<Duration>,
}

impl ApiError {
    pub(crate) fn timed_out() -> ApiError {
        ApiError::no_response("the API server did not respond in time".to_owned())
    }

    pub(crate) fn watch_ended() -> ApiError {
        ApiError::no_response("the watch was interrupted".to_owned())
    }

    pub(crate) fn unreadable(error: &serde_json::Error) -> ApiError {
        ApiError::no_response(format!("invalid response of the API server: {error}"))
    }

    fn no_response(message: String) -> ApiError {
        ApiError {
            code: 0,
            reason: "Unreachable".to_owned(),
            message,
            retry_after: None,
        }
    }

    /// The object, its kind or its namespace does not exist.
    pub(crate) fn is_not_found(&self) -> bool {
        self.code == 404
    }

    /// An object of this name exists.
    pub(crate) fn is_already_exists(&self) -> bool {
        self.code == 409 && self.reason == "AlreadyExists"
    }

    /// The object has changed in the meantime.
    pub(crate) fn is_conflict(&self) -> bool {
        self.code == 409 && self.reason != "AlreadyExists"
    }

    /// The resource version to watch from is too old.
    pub(crate) fn is_expired(&self) -> bool {
        self.code == 410
    }

    pub(crate) fn is_forbidden(&self) -> bool {
        self.code == 403
    }

    /// Whether the request may succeed later. A token may be replaced, so authentication errors count as well.
    pub(crate) fn is_retryable(&self) -> bool {
        matches!(self.code, 0 | 401 | 408 | 429 | 500..) || self.is_conflict()
    }

    /// The error as a fault of a pod.
    pub(crate) fn fault(&self, doing: &str) -> PodFault {
        PodFault {
            reason: self.reason.as_str().into(),
            message: format!("{doing}: {}", self.message).into(),
            scope: if self.is_retryable() {
                FaultScope::Pod
            } else {
                FaultScope::Image
            },
        }
    }
}

impl From<kube::Error> for ApiError {
    fn from(error: kube::Error) -> ApiError {
        match error {
            kube::Error::Api(status) => {
                let seconds = status
                    .details
                    .as_ref()
                    .map(|details| details.retry_after_seconds);
                let seconds = seconds.filter(|&seconds| seconds > 0);
                let seconds = seconds.or((status.code == TOO_MANY).then_some(LIMITER_SECONDS));
                let is_status = status.reason != UNREADABLE;
                ApiError {
                    code: status.code,
                    reason: match status.code {
                        _ if is_status => status.reason.clone(),
                        TOO_MANY => "TooManyRequests".to_owned(),
                        code => format!("HTTP{code}"),
                    },
                    message: status.message.clone(),
                    retry_after: seconds.map(|seconds| Duration::from_secs(u64::from(seconds))),
                }
            }
            error => ApiError::no_response(error_chain(&error)),
        }
    }
}

impl From<kube::core::request::Error> for ApiError {
    fn from(error: kube::core::request::Error) -> ApiError {
        ApiError {
            code: 400,
            reason: "BadRequest".to_owned(),
            message: error.to_string(),
            retry_after: None,
        }
    }
}
