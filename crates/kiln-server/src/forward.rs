//! Functions that somebody else runs: what came is passed on as it is, and so is the answer.
//!
//! Nothing is parsed and no thread is taken, so a call costs little while it waits. What a failed function said is cut down
//! to what the caller takes, and nothing else is changed.

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use kiln_proto::evaluator::EvaluateFunctionResponse;
use kiln_proto::failure::{self, MAX_WHOLE_MESSAGE, whole_message};
use kiln_proto::omit_middle;
use kiln_runtime::Deadline;
use tokio::sync::watch;
use tonic::Status;

use crate::evaluate::Evaluated;
use crate::status;

/// Runs functions elsewhere. It is asked for every image that no runtime knows.
pub trait Forwarder: Send + Sync {
    /// Passes a call on. Dropping the future gives the call up.
    fn forward(&self, call: ForwardedCall) -> Forwarding<'_>;

    /// Whether it can have anything run at all, now and from now on.
    fn usable(&self) -> watch::Receiver<bool>;
}

/// A call on its way.
pub type Forwarding<'a> =
    Pin<Box<dyn Future<Output = Result<EvaluateFunctionResponse, ForwardError>> + Send + 'a>>;

/// A call that is passed on.
#[derive(Clone, Debug)]
pub struct ForwardedCall {
    /// The image, as the caller sent it.
    pub image: String,
    /// The list, as the caller sent it.
    pub resource_list: Bytes,
    /// When there must be an answer. The caller gives up then in any case; this is for those further on.
    pub deadline: Option<Deadline>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ForwardError {
    /// There is no such image.
    #[error("{0}")]
    NotFound(String),
    /// Whoever should run it cannot, or did not come to an end.
    #[error("{0}")]
    Unavailable(String),
    /// What the one who ran it says: the function failed, or the call is not one that it takes.
    #[error("{}", .0.message())]
    Answered(Box<Status>),
    /// Everything is ending here.
    #[error("{}", kiln_proto::ENDING)]
    Ending,
}

/// A forwarder that was chosen for a call.
#[derive(Clone)]
pub(crate) struct ChosenForwarder {
    pub(crate) name: &'static str,
    pub(crate) forwarder: Arc<dyn Forwarder>,
    /// All who were asked before, and this one.
    pub(crate) asked: String,
}

impl ChosenForwarder {
    /// Passes a call on and makes an answer of what comes back. `room` is how many bytes of details the caller takes.
    pub(crate) async fn evaluate(&self, call: ForwardedCall, room: usize) -> Evaluated {
        let image = call.image.clone();
        let error = match self.forwarder.forward(call).await {
            Ok(response) => {
                return Evaluated {
                    exit_code: Some(0),
                    answer: Ok(response),
                    warning: None,
                };
            }
            Err(error) => error,
        };
        let (exit_code, status) = match error {
            ForwardError::NotFound(reason) => (
                None,
                status::not_found_because(&image, &self.asked, &reason),
            ),
            ForwardError::Unavailable(reason) => (None, Status::unavailable(reason)),
            ForwardError::Ending => (None, status::ending()),
            ForwardError::Answered(answered) => fitted(*answered, room),
        };
        Evaluated {
            exit_code,
            answer: Err(status),
            warning: None,
        }
    }
}

/// The status with details that the caller takes, and how the function exited if it says so.
fn fitted(status: Status, room: usize) -> (Option<i32>, Status) {
    match failure::from_status(&status) {
        Some(failure) => {
            let exit_code = Some(failure.exit_code);
            let text = whole_message(&status);
            let text = omit_middle(&text, MAX_WHOLE_MESSAGE).into_owned();
            let status = failure::to_status(status.code(), text, failure, room);
            (exit_code, status)
        }
        None if status.details().len() > room => {
            (None, Status::new(status.code(), status.message()))
        }
        // Metadata of the answer are the peer's own, and none of the caller's business.
        None => {
            let details = Bytes::copy_from_slice(status.details());
            let status = Status::with_details(status.code(), status.message(), details);
            (None, status)
        }
    }
}
