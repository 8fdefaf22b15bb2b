//! The evaluator of images that run in pods.
//!
//! A call requests a pod from the driver, calls it, and returns its slot in any case: the slot is a guard. As long as
//! there is a ready pod, a call sends no request to the API server, parses nothing and holds no lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use kiln_krm::image::with_prefix;
use kiln_oci::ImageReference;
use kiln_proto::SHUTTING_DOWN;
use kiln_proto::client::{CallError, EvaluatorClient, TooLarge};
use kiln_proto::evaluator::{EvaluateFunctionRequest, EvaluateFunctionResponse};
use kiln_proto::peer::MessageLimits;
use kiln_proto::transport::{causes, was_not_begun, was_not_sent};
use kiln_runtime::{
    AsyncRunner, Deadline, Evaluator, FindError, Found, FunctionIdentity, FunctionSpec, Outcome,
    Output, RunFuture, Target,
};
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::{Code, Request, Status};

use crate::driver::{Assignment, Driver, Message};
use crate::error::{PodError, PodStartError};
use crate::options::{PodOptions, TraceContext};
use crate::pool::{FaultScope, FunctionStarted, ImageKey, PodFault, PoolEvent, RequestId};
use crate::snapshot::PodsSnapshot;

/// Runs functions in pods. Clones are the same evaluator.
#[derive(Clone)]
pub struct PodEvaluator {
    inner: Arc<EvaluatorHandle>,
}

struct EvaluatorHandle {
    driver: UnboundedSender<Message>,
    next_request: AtomicU64,
    prefix: String,
    max_message_size: usize,
    trace_context: Option<TraceContext>,
    usable: watch::Receiver<bool>,
    tasks: Vec<tokio::task::AbortHandle>,
}

/// A function call.
#[derive(Clone, Debug)]
pub struct PodCall {
    /// The image: a full reference or a short name.
    pub image: String,
    /// The serialized ResourceList; it is not parsed.
    pub resource_list: Bytes,
    /// The time limit of the call; `None` means no limit.
    pub deadline: Option<Deadline>,
}

/// Every image may run in a pod; whether the image exists is known only when a pod is requested.
impl Evaluator for PodEvaluator {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        match &function.target {
            // The protocol has no place for variables.
            Target::Image(image) if function.env.is_empty() => {
                Ok(Found::Async(Arc::new(PodRunner {
                    pods: self.clone(),
                    image: image.clone(),
                })))
            }
            _ => Err(FindError::not_found(function)),
        }
    }
}

/// An image that runs in pods.
struct PodRunner {
    pods: PodEvaluator,
    image: String,
}

impl AsyncRunner for PodRunner {
    fn run(&self, list: Bytes, deadline: Option<Deadline>) -> RunFuture<'_> {
        let started = Instant::now();
        let call = PodCall {
            image: self.image.clone(),
            resource_list: list,
            deadline,
        };
        Box::pin(async move {
            let image = with_prefix(&self.pods.inner.prefix, &call.image);
            let mut digest = None;
            let response = self.pods.evaluate_by(call, &mut digest).await?;
            let reference: Option<ImageReference> = image.parse().ok();
            let identity = reference.zip(digest).map(|(reference, digest)| {
                let repository = format!("{}/{}", reference.registry(), reference.repository());
                FunctionIdentity::image(&repository, &digest)
            });
            Ok(Outcome {
                exit_code: 0,
                signal: None,
                output: Output::Wire(response.resource_list),
                stderr: response.log.into(),
                elapsed: started.elapsed(),
                identity,
                is_cached: false,
            })
        })
    }
}

impl PodEvaluator {
    /// Connects to the cluster and waits for the first complete view of it. Must be called within a tokio runtime.
    pub async fn start(options: PodOptions) -> Result<PodEvaluator, PodStartError> {
        let prefix = options.default_image_prefix.clone();
        let max_message_size = options.max_message_size;
        let trace_context = options.trace_context;
        let started = Driver::start(options).await?;
        Ok(PodEvaluator {
            inner: Arc::new(EvaluatorHandle {
                driver: started.messages,
                next_request: AtomicU64::new(1),
                prefix,
                max_message_size,
                trace_context,
                usable: started.usable,
                tasks: started.tasks,
            }),
        })
    }

    /// Whether functions can be run: the cluster view is up to date.
    pub fn is_usable(&self) -> bool {
        *self.inner.usable.borrow()
    }

    /// The value of [`Self::is_usable`], for waiting on changes.
    pub fn usable(&self) -> watch::Receiver<bool> {
        self.inner.usable.clone()
    }

    /// What this replica knows about pods and replicas; `None` if the driver does not answer within `timeout`.
    pub async fn snapshot(&self, timeout: Duration) -> Option<PodsSnapshot> {
        let (reply, answer) = oneshot::channel();
        self.inner.driver.send(Message::Snapshot(reply)).ok()?;
        tokio::time::timeout(timeout, answer).await.ok()?.ok()
    }

    /// Runs a function in a pod. Dropping the future cancels the call.
    pub async fn evaluate(&self, call: PodCall) -> Result<EvaluateFunctionResponse, PodError> {
        self.evaluate_by(call, &mut None).await
    }

    /// The same; `digest` is that of the image of the pod that ran the function.
    async fn evaluate_by(
        &self,
        call: PodCall,
        digest: &mut Option<Arc<str>>,
    ) -> Result<EvaluateFunctionResponse, PodError> {
        let mut delay = None;
        let Some(deadline) = call.deadline else {
            return self.run(call, &mut delay, digest).await;
        };
        let image = call.image.clone();
        let answer =
            tokio::time::timeout_at(deadline.at.into(), self.run(call, &mut delay, digest));
        let answer = answer.await;
        answer.unwrap_or(Err(PodError::TimedOut {
            image,
            timeout: deadline.timeout,
            delay,
        }))
    }

    /// Releases all pods to other replicas and waits up to `timeout` for running calls.
    pub async fn shut_down(&self, timeout: Duration) {
        let (done, is_done) = oneshot::channel();
        if self.inner.driver.send(Message::Drain(done)).is_ok()
            && tokio::time::timeout(timeout, is_done).await.is_err()
        {
            tracing::warn!(
                "pods were not released before the timeout; other replicas adopt them when this replica's lease expires"
            );
        }
        self.inner.stop();
    }

    /// When the future is dropped, `delay` holds the reason why the request had to wait.
    async fn run(
        &self,
        call: PodCall,
        delay: &mut Option<Arc<str>>,
        digest: &mut Option<Arc<str>>,
    ) -> Result<EvaluateFunctionResponse, PodError> {
        let inner = &self.inner;
        let image = with_prefix(&inner.prefix, &call.image);
        let request = RequestId(inner.next_request.fetch_add(1, Ordering::Relaxed));
        let (reply, mut assignments) = mpsc::unbounded_channel();
        let slot = PodSlot {
            driver: &inner.driver,
            request,
        };
        let _ = inner.driver.send(Message::Request {
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
                Some(Assignment::Delayed(why)) => *delay = Some(why),
                Some(Assignment::Pod(client, of_pod)) => {
                    *delay = None;
                    *digest = of_pod;
                    let attempt = self.attempt(client, message.clone(), call.deadline);
                    let status = match attempt.await {
                        Ok(response) => return Ok(response),
                        Err(CallError::TooLarge(too_large)) => {
                            return Err(PodError::Status(Box::new(request_too_large(&too_large))));
                        }
                        Err(CallError::Status(status)) => *status,
                    };
                    match lost_call(&status) {
                        Some((started, fault)) => slot.lost(started, fault),
                        None => {
                            return Err(PodError::Status(Box::new(self.with_limit_hint(status))));
                        }
                    }
                }
            }
        }
    }

    async fn attempt(
        &self,
        client: EvaluatorClient,
        message: EvaluateFunctionRequest,
        deadline: Option<Deadline>,
    ) -> Result<EvaluateFunctionResponse, CallError> {
        let mut request = Request::new(());
        *request.metadata_mut() = self.trace();
        if let Some(deadline) = deadline {
            let now = tokio::time::Instant::now().into_std();
            request.set_timeout(deadline.at.saturating_duration_since(now));
        }
        let (metadata, ..) = request.into_parts();
        let response = client.evaluate(message, metadata).await?;
        Ok(response.into_inner())
    }

    /// The trace context of the call, as request metadata for the pod.
    fn trace(&self) -> MetadataMap {
        let mut metadata = MetadataMap::new();
        let headers = self.inner.trace_context.map(|context| context());
        for (name, value) in headers.into_iter().flatten() {
            // A trace that cannot be sent does not fail the call.
            if let Ok(value) = MetadataValue::try_from(value) {
                metadata.insert(name, value);
            }
        }
        metadata
    }

    /// Adds the limit and its flag to the transport's error about a response that is too large.
    fn with_limit_hint(&self, status: Status) -> Status {
        if status.code() != Code::OutOfRange
            || !status.message().contains("message length too large")
        {
            return status;
        }
        let limit = MessageLimits::new(self.inner.max_message_size).kiln;
        Status::resource_exhausted(format!(
            "the function's response exceeds {limit} bytes ({}); raise --max-request-body-size",
            status.message()
        ))
    }
}

impl EvaluatorHandle {
    fn stop(&self) {
        self.tasks.iter().for_each(tokio::task::AbortHandle::abort);
    }
}

impl Drop for EvaluatorHandle {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A request's claim to a pod. Dropping it returns the pod in any case.
struct PodSlot<'a> {
    driver: &'a UnboundedSender<Message>,
    request: RequestId,
}

impl PodSlot<'_> {
    fn lost(&self, started: FunctionStarted, fault: PodFault) {
        let request = self.request;
        // If the driver has ended, the request gets no other assignment either.
        let _ = self.driver.send(Message::Event(PoolEvent::CallLost {
            request,
            started,
            fault,
        }));
    }
}

impl Drop for PodSlot<'_> {
    fn drop(&mut self) {
        let request = self.request;
        let _ = self
            .driver
            .send(Message::Event(PoolEvent::Finished { request }));
    }
}

/// The status of a request that is too large to be sent to a pod.
fn request_too_large(too_large: &TooLarge) -> Status {
    let TooLarge { size, limit, .. } = too_large;
    let reason = match too_large.announced {
        Some(theirs) => format!("the wrapper server in its pod accepts {theirs} bytes"),
        None => "the wrapper server in its pod announces no limit, as Porch's".to_owned(),
    };
    Status::resource_exhausted(format!(
        "the request for the function has {size} bytes, more than the limit of {limit} bytes ({reason}); \
         raise --max-request-body-size of the function runner, which passes it on to its pods"
    ))
}

/// Returns the fault if a status means that the pod or the connection was lost. A status that the wrapper sent has no
/// source; it counts as an answer unless it says that the wrapper is shutting down.
fn lost_call(status: &Status) -> Option<(FunctionStarted, PodFault)> {
    if status.code() == Code::Unavailable && status.message() == SHUTTING_DOWN {
        let fault = PodFault {
            reason: "Terminating".into(),
            message: "the pod is shutting down".into(),
            scope: FaultScope::Pod,
        };
        return Some((FunctionStarted::No, fault));
    }
    let mut causes = causes(status).skip(1).peekable();
    causes.peek()?;
    let text = causes
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ");
    let started = match was_not_sent(status) || was_not_begun(status) {
        true => FunctionStarted::No,
        false => FunctionStarted::Maybe,
    };
    let fault = PodFault {
        reason: "ConnectionLost".into(),
        message: text.into(),
        scope: FaultScope::Pod,
    };
    Some((started, fault))
}

#[cfg(test)]
mod tests;
