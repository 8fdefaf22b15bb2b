//! A call from its first byte to its answer: look the function up, wait for a place, run it, tell.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use kiln_proto::evaluator::{EvaluateFunctionRequest, EvaluateFunctionResponse};
use kiln_proto::failure::{DEFAULT_ROOM, MAX_ROOM, ROOM_METADATA};
use kiln_runtime::{CancelToken, Deadline, FindError, Limits, RunContext};
use tonic::metadata::MetadataMap;
use tonic::{Code, Request, Response, Status};
use tracing::{Instrument as _, Span, field};

use crate::admission::{Admission, Lane, Place};
use crate::deadline;
use crate::evaluate::{Evaluated, Evaluation, with_sources};
use crate::evaluators::{Chosen, Evaluators, Found};
use crate::forward::{ChosenForwarder, ForwardedCall};
use crate::lifecycle::{Lifecycle, Phase};
use crate::observer::{Finished, Observer};
use crate::options::Options;
use crate::status;
use crate::workers::{Lease, WorkerCall, WorkerPool};

/// When a request came in, which is when its time began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived(pub(crate) Instant);

/// The service, shared by all connections.
pub(crate) struct Service {
    evaluators: Evaluators,
    admission: Admission,
    lifecycle: Arc<Lifecycle>,
    max_message_size: usize,
    evaluation_timeout: Option<Duration>,
    observer: Arc<dyn Observer>,
}

impl Service {
    pub(crate) fn new(
        evaluators: Evaluators,
        options: &Options,
        lifecycle: Arc<Lifecycle>,
    ) -> Service {
        Service {
            admission: Admission::new(options.admission, &options.observer),
            evaluators,
            lifecycle,
            max_message_size: options.max_message_size,
            evaluation_timeout: options.evaluation_timeout,
            observer: Arc::clone(&options.observer),
        }
    }

    pub(crate) fn max_message_size(&self) -> usize {
        self.max_message_size
    }

    /// Answers a call.
    pub(crate) async fn evaluate(
        &self,
        request: Request<EvaluateFunctionRequest>,
    ) -> Result<Response<EvaluateFunctionResponse>, Status> {
        let _running = self.lifecycle.begin().ok_or_else(status::ending)?;
        let (metadata, extensions, message) = request.into_parts();
        let arrived = extensions.get::<Arrived>();
        let arrived = arrived.map_or_else(Instant::now, |arrived| arrived.0);
        let EvaluateFunctionRequest {
            resource_list,
            image,
        } = message;
        let mut call = Call::new(self, &metadata, image, &resource_list, arrived);
        self.observer.begun(&call.span, &metadata);
        let answer = self.answer(&mut call, &metadata, resource_list).await;
        call.end(&answer);
        answer.map(Response::new)
    }

    async fn answer(
        &self,
        call: &mut Call<'_>,
        metadata: &MetadataMap,
        list: Bytes,
    ) -> Result<EvaluateFunctionResponse, Status> {
        let timeout = deadline::timeout(metadata)
            .map_err(|error| Status::invalid_argument(error.to_string()))?;
        let timeout = timeout.into_iter().chain(self.evaluation_timeout).min();
        let deadline = timeout.and_then(|timeout| {
            let at = call.arrived.checked_add(timeout)?;
            Some(Deadline { at, timeout })
        });
        let evaluated = match self.choose(&call.image)? {
            Chosen::Here(found) => {
                call.is_with(found.evaluator);
                let worker_image = found.runner.worker_image();
                match (found.workers.as_deref(), worker_image) {
                    (Some(workers), Some(worker_image)) => {
                        let worker_call = WorkerCall {
                            image: call.image.clone(),
                            worker_image: worker_image.to_owned(),
                            list,
                            deadline,
                            max_output: self.max_output(),
                            max_message_size: self.max_message_size,
                            room: room(metadata),
                        };
                        self.run_in_worker(call, workers, worker_call).await?
                    }
                    _ => {
                        self.run_here(call, found, list, deadline, room(metadata))
                            .await?
                    }
                }
            }
            Chosen::Elsewhere(forwarder) => {
                call.is_with(forwarder.name);
                self.forward(call, &forwarder, list, deadline, room(metadata))
                    .await?
            }
        };
        call.exit_code = evaluated.exit_code;
        if let Some(warning) = evaluated.warning {
            tracing::warn!(image = call.image, "{warning}");
        }
        evaluated.answer
    }

    fn choose(&self, image: &str) -> Result<Chosen, Status> {
        self.evaluators.choose(image).map_err(|error| match error {
            FindError::NotFound { .. } => {
                let names: Vec<&str> = self.evaluators.names().collect();
                status::not_found(image, &names.join(", "))
            }
            FindError::Refused(error) => status::unavailable(image, &error.to_string()),
        })
    }

    async fn run_here(
        &self,
        call: &mut Call<'_>,
        found: Found,
        list: Bytes,
        deadline: Option<Deadline>,
        room: usize,
    ) -> Result<Evaluated, Status> {
        let lane = Lane::of(found.runner.is_native(), list.len());
        let place = self.place(call, lane, deadline).await?;
        call.started = Some(Instant::now());

        let evaluation = Evaluation {
            image: call.image.clone(),
            list,
            found,
            ctx: RunContext {
                deadline,
                limits: Limits {
                    max_output: self.max_output(),
                    ..Limits::default()
                },
                ..RunContext::default()
            },
            max_message_size: self.max_message_size,
            room,
        };
        self.run(call, evaluation, place, lane, deadline).await
    }

    /// How much a function may write, the list and what it prints together.
    fn max_output(&self) -> u64 {
        2 * self.max_message_size as u64
    }

    /// Runs in a worker process. When the caller goes away this future is dropped, and with it the lease, which ends the
    /// call.
    async fn run_in_worker(
        &self,
        call: &mut Call<'_>,
        workers: &WorkerPool,
        worker_call: WorkerCall,
    ) -> Result<Evaluated, Status> {
        let deadline = worker_call.deadline;
        let lane = Lane::of(true, worker_call.list.len());
        let place = self.place(call, lane, deadline).await?;
        call.started = Some(Instant::now());
        let taken = until(deadline, Lease::take(workers, place, &worker_call)).await;
        let mut lease = match taken {
            Some(Ok(lease)) => lease,
            Some(Err(error)) => {
                return Err(status::unavailable(&call.image, &with_sources(&error)));
            }
            None => return Err(timed_out(&call.image, deadline)),
        };
        let evaluation = lease.evaluate(&self.admission, worker_call);
        let evaluation = evaluation.instrument(call.execution(lane));
        tokio::select! {
            evaluated = until(deadline, evaluation) => match evaluated {
                Some(evaluated) => return Ok(evaluated),
                None => {
                    // Nothing of it may go on, and its place is free at once.
                    lease.kill();
                    return Err(timed_out(&call.image, deadline));
                }
            },
            () = self.lifecycle.reached(Phase::Cancelling) => {}
        }
        lease.kill();
        Err(status::interrupted(&call.image))
    }

    /// Passes the call on. When the caller goes away this future is dropped, and with it the call there.
    async fn forward(
        &self,
        call: &mut Call<'_>,
        forwarder: &ChosenForwarder,
        resource_list: Bytes,
        deadline: Option<Deadline>,
        room: usize,
    ) -> Result<Evaluated, Status> {
        let lane = Lane::Forwarded;
        let _place = self.place(call, lane, deadline).await?;
        call.started = Some(Instant::now());
        let image = call.image.clone();
        let forwarded = ForwardedCall {
            image,
            resource_list,
            deadline,
        };
        let forwarding = forwarder.evaluate(forwarded, room);
        let forwarding = forwarding.instrument(call.execution(lane));
        tokio::select! {
            evaluated = until(deadline, forwarding) => {
                evaluated.ok_or_else(|| timed_out(&call.image, deadline))
            }
            () = self.lifecycle.reached(Phase::Cancelling) => Err(status::interrupted(&call.image)),
        }
    }

    /// Waits for a place as long as the caller does.
    async fn place(
        &self,
        call: &mut Call<'_>,
        lane: Lane,
        deadline: Option<Deadline>,
    ) -> Result<Place, Status> {
        let waiting_since = Instant::now();
        let span = tracing::debug_span!(parent: &call.span, "queue", lane = lane.name());
        let entered = until(deadline, self.admission.enter(lane))
            .instrument(span)
            .await;
        call.queue = waiting_since.elapsed();
        match entered {
            Some(Ok(place)) => Ok(place),
            Some(Err(full)) => Err(status::full(full.waiting, full)),
            None => Err(timed_out(&call.image, deadline)),
        }
    }

    /// Runs on a thread that may block. When the caller goes away this future is dropped, and with it go the place and
    /// the function.
    async fn run(
        &self,
        call: &Call<'_>,
        evaluation: Evaluation,
        place: Place,
        lane: Lane,
        deadline: Option<Deadline>,
    ) -> Result<Evaluated, Status> {
        let image = evaluation.image.clone();
        let cancel = evaluation.ctx.cancel.clone();
        let _cancel_on_drop = CancelOnDrop(cancel.clone());
        // A process is as good as gone when it is killed. A native function is not gone before it returns, and until
        // then nobody else can have its thread.
        let (kept, lent) = match lane {
            Lane::Processes | Lane::Forwarded => (Some(place), None),
            Lane::Small | Lane::Large | Lane::Slow => (None, Some(place)),
        };
        let span = call.execution(lane);
        let mut task = tokio::task::spawn_blocking(move || {
            let _place = lent;
            span.in_scope(|| evaluation.evaluate())
        });
        let cancelling = self.lifecycle.reached(Phase::Cancelling);
        let ended = tokio::select! {
            ended = until(deadline, &mut task) => ended,
            () = cancelling => {
                cancel.cancel();
                return Err(status::interrupted(&image));
            }
        };
        drop(kept);
        match ended {
            Some(Ok(evaluated)) => Ok(evaluated),
            Some(Err(_)) => Err(status::panicked(&image)),
            None => Err(timed_out(&image, deadline)),
        }
    }
}

fn timed_out(image: &str, deadline: Option<Deadline>) -> Status {
    let timeout = deadline.map(|deadline| deadline.timeout);
    status::timed_out(image, timeout.unwrap_or_default())
}

/// What comes of a future before the deadline; none if nothing does.
async fn until<F: Future>(deadline: Option<Deadline>, future: F) -> Option<F::Output> {
    match deadline {
        Some(deadline) => tokio::time::timeout_at(deadline.at.into(), future)
            .await
            .ok(),
        None => Some(future.await),
    }
}

/// How many bytes of details the caller takes.
fn room(metadata: &MetadataMap) -> usize {
    let said = metadata
        .get(ROOM_METADATA)
        .and_then(|value| value.to_str().ok());
    let said = said.and_then(|text| text.parse().ok());
    said.unwrap_or(DEFAULT_ROOM).min(MAX_ROOM)
}

struct CancelOnDrop(CancelToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// What there is to tell about a call. One that is dropped before it ends was cancelled.
struct Call<'a> {
    observer: &'a dyn Observer,
    span: Span,
    request_id: String,
    image: String,
    arrived: Instant,
    started: Option<Instant>,
    queue: Duration,
    evaluator: Option<&'static str>,
    exit_code: Option<i32>,
    request_bytes: usize,
    response_bytes: usize,
    end: Option<(Code, Option<String>)>,
}

impl<'a> Call<'a> {
    fn new(
        service: &'a Service,
        metadata: &MetadataMap,
        image: String,
        list: &Bytes,
        arrived: Instant,
    ) -> Call<'a> {
        let request_id = request_id(metadata);
        let span = tracing::info_span!(
            "evaluate",
            otel.kind = "server",
            request_id = request_id.as_str(),
            image = image.as_str(),
            evaluator = field::Empty,
        );
        Call {
            observer: service.observer.as_ref(),
            span,
            request_id,
            image,
            arrived,
            started: None,
            queue: Duration::ZERO,
            evaluator: None,
            exit_code: None,
            request_bytes: list.len(),
            response_bytes: 0,
            end: None,
        }
    }

    /// The span of the function's work. Where nobody wants to hear of steps it is that of the call, to which what is told
    /// belongs all the same.
    fn execution(&self, lane: Lane) -> Span {
        let step = tracing::debug_span!(parent: &self.span, "execute", lane = lane.name());
        match step.is_disabled() {
            true => self.span.clone(),
            false => step,
        }
    }

    fn is_with(&mut self, evaluator: &'static str) {
        self.evaluator = Some(evaluator);
        self.span.record("evaluator", evaluator);
    }

    fn end(mut self, answer: &Result<EvaluateFunctionResponse, Status>) {
        self.end = Some(match answer {
            Ok(response) => {
                self.response_bytes = response.resource_list.len();
                (Code::Ok, None)
            }
            Err(status) => (status.code(), Some(status.message().to_owned())),
        });
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        let (code, message) = self.end.take().unwrap_or_else(|| {
            let message = "the caller went away".to_owned();
            (Code::Cancelled, Some(message))
        });
        let finished = Finished {
            request_id: &self.request_id,
            image: &self.image,
            evaluator: self.evaluator,
            code,
            message: message.as_deref().unwrap_or_default(),
            queue: self.queue,
            execution: self.started.map(|started| started.elapsed()),
            total: self.arrived.elapsed(),
            request_bytes: self.request_bytes,
            response_bytes: self.response_bytes,
            exit_code: self.exit_code,
        };
        self.observer.finished(&self.span, &finished);
        macro_rules! tell {
            ($level:ident, $text:literal) => {
                tracing::$level!(
                    parent: &self.span,
                    request_id = finished.request_id,
                    image = finished.image,
                    evaluator = finished.evaluator,
                    code = ?finished.code,
                    exit_code = finished.exit_code,
                    queue_us = micros(finished.queue),
                    execution_us = finished.execution.map(micros),
                    total_us = micros(finished.total),
                    request_bytes = finished.request_bytes,
                    response_bytes = finished.response_bytes,
                    message_to_caller = message.as_deref(),
                    $text
                )
            };
        }
        match finished.code {
            Code::Ok => tell!(info, "evaluated"),
            Code::Internal | Code::Unavailable => tell!(warn, "evaluation failed"),
            _ => tell!(info, "evaluation refused or given up"),
        }
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// What the caller calls the request, if that is fit for a log, or a name of our own.
fn request_id(metadata: &MetadataMap) -> String {
    static SEED: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let given = metadata
        .get("x-request-id")
        .and_then(|value| value.to_str().ok());
    let fit = |id: &&str| {
        let printable = id.bytes().all(|byte| byte.is_ascii_graphic());
        (1..=128).contains(&id.len()) && printable
    };
    match given.filter(fit) {
        Some(id) => id.to_owned(),
        None => {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            format!("{:016x}", SEED.hash_one(number))
        }
    }
}
