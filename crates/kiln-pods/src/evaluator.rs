//! The evaluator as its callers see it.
//!
//! A call asks the driver for a pod, calls it, and gives it back, whatever becomes of the call: the slot is a guard. While
//! pods are there no API server is asked, nothing is parsed and no lock is held.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use kiln_krm::image::with_prefix;
use kiln_proto::ENDING;
use kiln_proto::evaluator::{EvaluateFunctionRequest, EvaluateFunctionResponse};
use kiln_proto::failure::ROOM_METADATA;
use kiln_proto::transport::{causes, room, was_not_begun, was_not_sent};
use kiln_runtime::Deadline;
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::sync::{oneshot, watch};
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::{Code, Request, Status};

use crate::connection::Client;
use crate::driver::{Assignment, Driver, Message};
use crate::error::{PodError, StartError};
use crate::options::Options;
use crate::state::{Event, Fault, ImageKey, Lasts, RequestId, Started};

/// Runs functions in pods.
pub struct PodEvaluator {
    inner: Arc<Inner>,
}

struct Inner {
    to: UnboundedSender<Message>,
    next_request: AtomicU64,
    prefix: String,
    max_message_size: usize,
    usable: watch::Receiver<bool>,
    tasks: Vec<tokio::task::AbortHandle>,
}

/// A function to be run.
#[derive(Clone, Debug)]
pub struct Call {
    /// The image, by whole or by short name.
    pub image: String,
    /// The list, as it was received.
    pub resource_list: Bytes,
    /// When there must be an answer.
    pub deadline: Option<Deadline>,
    /// What else the pod is told, such as the trace that the call belongs to.
    pub metadata: MetadataMap,
}

impl PodEvaluator {
    /// Looks at the cluster and waits until it is known what there is. Must be called within a tokio runtime.
    pub async fn start(options: Options) -> Result<PodEvaluator, StartError> {
        let prefix = options.default_image_prefix.clone();
        let max_message_size = options.max_message_size;
        let started = Driver::start(options).await?;
        Ok(PodEvaluator {
            inner: Arc::new(Inner {
                to: started.to,
                next_request: AtomicU64::new(1),
                prefix,
                max_message_size,
                usable: started.usable,
                tasks: started.tasks,
            }),
        })
    }

    /// Whether functions can be run: what is known of the cluster is fresh.
    pub fn is_usable(&self) -> bool {
        *self.inner.usable.borrow()
    }

    /// Whether functions can be run, now and from now on.
    pub fn usable(&self) -> watch::Receiver<bool> {
        self.inner.usable.clone()
    }

    /// Runs a function in a pod. Giving up the future gives up the call.
    pub async fn evaluate(&self, call: Call) -> Result<EvaluateFunctionResponse, PodError> {
        let mut trouble = None;
        let Some(deadline) = call.deadline else {
            return self.run(call, &mut trouble).await;
        };
        let image = call.image.clone();
        let answer = tokio::time::timeout_at(deadline.at.into(), self.run(call, &mut trouble));
        let answer = answer.await;
        answer.unwrap_or(Err(PodError::TimedOut {
            image,
            timeout: deadline.timeout,
            trouble,
        }))
    }

    /// Ends: pods are left to other replicas, and what was begun is finished if that takes no longer than `patience`.
    pub async fn shut_down(&self, patience: Duration) {
        let (done, is_done) = oneshot::channel();
        if self.inner.to.send(Message::Drain(done)).is_ok()
            && tokio::time::timeout(patience, is_done).await.is_err()
        {
            tracing::warn!(
                "pods could not be given back in time; others take them when our lease is over"
            );
        }
        self.inner.stop();
    }

    /// Why there is no pod yet is in `trouble` whenever the future is given up.
    async fn run(
        &self,
        call: Call,
        trouble: &mut Option<Arc<str>>,
    ) -> Result<EvaluateFunctionResponse, PodError> {
        let inner = &self.inner;
        let image = with_prefix(&inner.prefix, &call.image);
        let request = RequestId(inner.next_request.fetch_add(1, Ordering::Relaxed));
        let (reply, mut assignments) = mpsc::unbounded_channel();
        let slot = Slot {
            to: &inner.to,
            request,
        };
        let _ = inner.to.send(Message::Request {
            request,
            image: ImageKey::new(image.as_str()),
            reply,
        });
        let message = EvaluateFunctionRequest {
            resource_list: call.resource_list,
            image: image.clone(),
        };
        loop {
            match assignments.recv().await {
                None => return Err(PodError::Draining),
                Some(Assignment::Fail(failure)) => {
                    return Err(PodError::from_failure(&image, failure));
                }
                Some(Assignment::Trouble(why)) => *trouble = Some(why),
                Some(Assignment::Go(client)) => {
                    *trouble = None;
                    let attempt =
                        self.attempt(client, message.clone(), &call.metadata, call.deadline);
                    let status = match attempt.await {
                        Ok(response) => return Ok(response),
                        Err(status) => status,
                    };
                    match loss(&status) {
                        Some((started, fault)) => slot.lost(started, fault),
                        None => return Err(PodError::Status(Box::new(self.readable(status)))),
                    }
                }
            }
        }
    }

    async fn attempt(
        &self,
        mut client: Client,
        message: EvaluateFunctionRequest,
        metadata: &MetadataMap,
        deadline: Option<Deadline>,
    ) -> Result<EvaluateFunctionResponse, Status> {
        let mut request = Request::new(message);
        *request.metadata_mut() = metadata.clone();
        let room = MetadataValue::from(room(self.inner.max_message_size));
        request.metadata_mut().insert(ROOM_METADATA, room);
        if let Some(deadline) = deadline {
            let now = tokio::time::Instant::now().into_std();
            request.set_timeout(deadline.at.saturating_duration_since(now));
        }
        let response = client.evaluate_function(request).await?;
        Ok(response.into_inner())
    }

    /// The transport says of an answer over the limit neither what limit that is nor what sets it.
    fn readable(&self, status: Status) -> Status {
        if status.code() != Code::OutOfRange
            || !status.message().contains("message length too large")
        {
            return status;
        }
        let limit = self.inner.max_message_size;
        Status::resource_exhausted(format!(
            "the function's answer is larger than {limit} bytes ({}); raise --max-request-body-size",
            status.message()
        ))
    }
}

impl Inner {
    fn stop(&self) {
        self.tasks.iter().for_each(tokio::task::AbortHandle::abort);
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A request's claim to a pod. Whatever happens to the request, dropping it gives the pod back.
struct Slot<'a> {
    to: &'a UnboundedSender<Message>,
    request: RequestId,
}

impl Slot<'_> {
    fn lost(&self, started: Started, fault: Fault) {
        let request = self.request;
        // If nobody listens, no assignment will come either.
        let _ = self.to.send(Message::Tell(Event::Lost {
            request,
            started,
            fault,
        }));
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        let request = self.request;
        let _ = self.to.send(Message::Tell(Event::Over { request }));
    }
}

/// Whether a status means that the pod or the connection was lost. What a wrapper says has no cause here, and is an answer
/// unless it says that it takes no more calls.
fn loss(status: &Status) -> Option<(Started, Fault)> {
    if status.code() == Code::Unavailable && status.message() == ENDING {
        let fault = Fault {
            reason: "Terminating".into(),
            message: "the pod is shutting down".into(),
            lasts: Lasts::No,
        };
        return Some((Started::No, fault));
    }
    let mut causes = causes(status).skip(1).peekable();
    causes.peek()?;
    let text = causes
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ");
    let started = match was_not_sent(status) || was_not_begun(status) {
        true => Started::No,
        false => Started::Maybe,
    };
    let fault = Fault {
        reason: "ConnectionLost".into(),
        message: text.into(),
        lasts: Lasts::No,
    };
    Some((started, fault))
}

#[cfg(test)]
mod tests;
