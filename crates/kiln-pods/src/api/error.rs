//! What the API server answers when it does not do what was asked.

use std::error::Error;
use std::time::Duration;

use crate::state::{Fault, Lasts};

/// What `kube` takes for the reason where an answer is no status of Kubernetes.
const UNREADABLE: &str = "Failed to parse error data";

const TOO_MANY: u16 = 429;

/// How long an API server wants to be left alone that is asked too much at a time. It says so in a header that does not get
/// here, and always this.
const LIMITER_SECONDS: u32 = 1;

/// Why something was not done. Without a code nobody knows whether it was.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct ApiError {
    /// The HTTP status; zero if there was no answer.
    code: u16,
    /// One word, as Kubernetes has it.
    reason: String,
    message: String,
    /// How long the server wants to be left alone.
    pub(crate) retry_after: Option<Duration>,
}

impl ApiError {
    pub(crate) fn timed_out() -> ApiError {
        ApiError::unanswered("the API server did not answer in time".to_owned())
    }

    pub(crate) fn cut_off() -> ApiError {
        ApiError::unanswered("the API server ended a watch at once".to_owned())
    }

    pub(crate) fn unreadable(error: &serde_json::Error) -> ApiError {
        ApiError::unanswered(format!("the API server's answer cannot be read: {error}"))
    }

    fn unanswered(message: String) -> ApiError {
        ApiError {
            code: 0,
            reason: "Unreachable".to_owned(),
            message,
            retry_after: None,
        }
    }

    /// The object, its kind or its namespace is not there.
    pub(crate) fn is_not_found(&self) -> bool {
        self.code == 404
    }

    /// An object of the name is there already.
    pub(crate) fn is_already_there(&self) -> bool {
        self.code == 409 && self.reason == "AlreadyExists"
    }

    /// Somebody else has changed the object.
    pub(crate) fn is_conflict(&self) -> bool {
        self.code == 409 && self.reason != "AlreadyExists"
    }

    /// What was to be watched from is too long ago.
    pub(crate) fn is_expired(&self) -> bool {
        self.code == 410
    }

    /// We may not.
    pub(crate) fn is_forbidden(&self) -> bool {
        self.code == 403
    }

    /// The same may do the next time. A token may be replaced, so that being unknown passes too.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self.code, 0 | 401 | 408 | 429 | 500..) || self.is_conflict()
    }

    /// The error as what is wrong with a pod.
    pub(crate) fn fault(&self, doing: &str) -> Fault {
        Fault {
            reason: self.reason.as_str().into(),
            message: format!("{doing}: {}", self.message).into(),
            lasts: if self.is_passing() {
                Lasts::No
            } else {
                Lasts::Yes
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
            error => ApiError::unanswered(with_causes(&error)),
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

fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}
