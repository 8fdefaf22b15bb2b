//! A call from its first byte to its answer: find the function, wait for a slot, run it, respond, log.

use std::hash::{BuildHasher as _, RandomState};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use kiln_go::error_chain;
use kiln_krm::secrets::may_have_secrets;
use kiln_proto::IDENTITY_METADATA;
use kiln_proto::evaluator::{EvaluateFunctionRequest, EvaluateFunctionResponse};
use kiln_proto::failure::{DEFAULT_ROOM, MAX_ROOM, ROOM_METADATA};
use kiln_runtime::{
    AsyncRunner, CancelToken, Deadline, EvaluatorChain, FindError, Found, FunctionIdentity,
    FunctionSpec, Limits, RunContext, RunError, Runner,
};
use tonic::metadata::MetadataMap;
use tonic::{Code, Request, Response, Status};
use tracing::{Instrument as _, Span, field};

use crate::admission::{Admission, Caller, Lane, Slot};
use crate::deadline;
use crate::evaluate::{Evaluated, Evaluation, fit_answer, not_run, unread};
use crate::lifecycle::{Lifecycle, Phase};
use crate::observer::{ArrivedCall, Finished, Observer};
use crate::options::{Options, Words};
use crate::status;
use crate::workers::{Lease, WorkerCall, WorkerPool};

/// When a request came in, which is when its time began, and from where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) at: Instant,
    pub(crate) caller: Caller,
    /// Maximum size of the request and of the response here.
    pub(crate) max_message_size: usize,
    /// Maximum size of the response for the caller, if it announces one.
    pub(crate) max_answer: Option<usize>,
}

/// The service, shared by all connections.
pub(crate) struct Service {
    evaluators: EvaluatorChain,
    workers: Option<Arc<WorkerPool>>,
    words: Words,
    admission: Admission,
    lifecycle: Arc<Lifecycle>,
    evaluation_timeout: Option<Duration>,
    observer: Arc<dyn Observer>,
}

impl Service {
    pub(crate) fn new(
        evaluators: EvaluatorChain,
        options: &Options,
        lifecycle: Arc<Lifecycle>,
    ) -> Service {
        Service {
            admission: Admission::new(options.admission, &options.observer),
            evaluators,
            workers: options.workers.clone(),
            words: options.words,
            lifecycle,
            evaluation_timeout: options.evaluation_timeout,
            observer: Arc::clone(&options.observer),
        }
    }

    pub(crate) async fn evaluate(
        &self,
        request: Request<EvaluateFunctionRequest>,
    ) -> Result<Response<EvaluateFunctionResponse>, Status> {
        let _running = self.lifecycle.begin().ok_or_else(status::ending)?;
        let (metadata, extensions, message) = request.into_parts();
        let arrival = extensions.get::<Arrival>().copied();
        let arrival = arrival.ok_or_else(|| Status::internal("a call without its connection"))?;
        let EvaluateFunctionRequest {
            resource_list,
            image,
        } = message;
        let mut call = Call::new(self, &metadata, image, &resource_list, arrival);
        call.begin(&metadata);
        let answer = self.answer(&mut call, &metadata, resource_list).await;
        let answer = answer.and_then(|answer| fit_answer(&call.image, answer, &arrival));
        let identity = call.identity.clone();
        call.end(&answer);
        let identity = identity.and_then(|text| text.as_str().parse().ok());
        let add = |metadata: &mut MetadataMap| {
            if let Some(identity) = identity {
                metadata.insert(IDENTITY_METADATA, identity);
            }
        };
        match answer {
            Ok(answer) => {
                let mut response = Response::new(answer);
                add(response.metadata_mut());
                Ok(response)
            }
            // What failed matters even more.
            Err(mut status) => {
                add(status.metadata_mut());
                Err(status)
            }
        }
    }

    /// Has one evaluator after the other run the function until the chain says that the search is over.
    async fn answer(
        &self,
        call: &mut Call<'_>,
        metadata: &MetadataMap,
        list: Bytes,
    ) -> Result<EvaluateFunctionResponse, Status> {
        let mut request = FunctionCall {
            list,
            deadline: self.deadline(call, metadata)?,
            room: room(metadata),
        };
        let found = self.evaluators.search(&FunctionSpec::image(&call.image));
        let (mut search, mut found) = found.map_err(|error| match error {
            FindError::NotFound { .. } => status::not_found(&call.image, &self.names()),
            FindError::Refused(error) => status::unavailable(&call.image, &error.to_string()),
            FindError::Denied(error) => status::denied(&*error),
        })?;
        let deadline = request.deadline;
        let evaluated = loop {
            call.is_with(search.evaluator());
            request.deadline = Deadline::at_most(deadline, found.max_time());
            let ran = match found {
                Found::Async(runner) => self.run_elsewhere(call, &*runner, &request).await?,
                Found::Blocking(runner) => match (&self.workers, runner.worker_image()) {
                    (Some(workers), Some(worker_image)) => {
                        let worker_call = WorkerCall {
                            image: call.image.clone(),
                            worker_image: worker_image.to_owned(),
                            // A worker's answer is final, and its list need not stay in memory.
                            list: std::mem::take(&mut request.list),
                            deadline: request.deadline,
                            max_output: call.max_output(),
                            max_message_size: call.arrival.max_message_size,
                            room: request.room,
                        };
                        Ok(self.run_in_worker(call, workers, worker_call).await?)
                    }
                    _ => self.run_here(call, runner, &request).await?,
                },
            };
            found = match search.settle(ran) {
                ControlFlow::Continue(found) => found,
                ControlFlow::Break(Ok(evaluated)) => break evaluated,
                ControlFlow::Break(Err(error)) => {
                    break not_run(&call.image, error, &self.names(), request.room);
                }
            };
        };
        call.exit_code = evaluated.exit_code;
        call.identity = evaluated.identity;
        if let Some(warning) = evaluated.warning {
            let warning = match call.may_have_secrets {
                true => "the function reported errors in its results",
                false => &warning,
            };
            tracing::warn!(image = call.image, "{warning}");
        }
        evaluated.answer
    }

    /// The earlier of what the caller and the server allow.
    fn deadline(
        &self,
        call: &Call<'_>,
        metadata: &MetadataMap,
    ) -> Result<Option<Deadline>, Status> {
        let timeout = deadline::timeout(metadata)
            .map_err(|error| Status::invalid_argument(error.to_string()))?;
        let timeout = timeout.into_iter().chain(self.evaluation_timeout).min();
        Ok(timeout.and_then(|timeout| {
            let at = call.arrival.at.checked_add(timeout)?;
            Some(Deadline { at, timeout })
        }))
    }

    /// The names of the evaluators, for answers.
    fn names(&self) -> String {
        self.evaluators.names().collect::<Vec<_>>().join(", ")
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
        let slot = self.slot(call, lane, deadline).await?;
        let taken = until(deadline, Lease::take(workers, slot, &worker_call)).await;
        let mut lease = match taken {
            Some(Ok(lease)) => lease,
            Some(Err(error)) => {
                return Err(status::unavailable(&call.image, &error_chain(&error)));
            }
            None => return Err(timed_out(&call.image, deadline)),
        };
        let evaluation = lease.evaluate(&self.admission, call.arrival.caller, worker_call);
        let evaluation = evaluation.instrument(call.execution(lane));
        tokio::select! {
            evaluated = until(deadline, evaluation) => match evaluated {
                Some(evaluated) => return Ok(evaluated),
                None => {
                    // Nothing of it may go on, and its slot is free at once.
                    lease.kill();
                    return Err(timed_out(&call.image, deadline));
                }
            },
            () = self.lifecycle.reached(Phase::Cancelling) => {}
        }
        lease.kill();
        Err(status::interrupted(&call.image))
    }

    /// Waits for a function that runs elsewhere. When the caller goes away this future is dropped, and with it the call
    /// there.
    async fn run_elsewhere(
        &self,
        call: &mut Call<'_>,
        runner: &dyn AsyncRunner,
        request: &FunctionCall,
    ) -> Result<Result<Evaluated, RunError>, Status> {
        let lane = Lane::Forwarded;
        let deadline = request.deadline;
        let _slot = self.slot(call, lane, deadline).await?;
        let running = async { runner.run(request.list.clone(), deadline).await };
        let running = running.instrument(call.execution(lane));
        let ran = tokio::select! {
            ran = until(deadline, running) => {
                ran.ok_or_else(|| timed_out(&call.image, deadline))?
            }
            () = self.lifecycle.reached(Phase::Cancelling) => {
                return Err(status::interrupted(&call.image));
            }
        };
        Ok(ran.map(|outcome| unread(&call.image, outcome, request.room)))
    }

    /// Waits for a slot as long as the caller does.
    async fn slot(
        &self,
        call: &mut Call<'_>,
        lane: Lane,
        deadline: Option<Deadline>,
    ) -> Result<Slot, Status> {
        let waiting_since = Instant::now();
        if let Some(evaluator) = call.evaluator {
            self.observer.queued(call.id, evaluator, lane);
        }
        let span = tracing::debug_span!(parent: &call.span, "queue", lane = lane.name());
        let entered = until(deadline, self.admission.enter(lane, call.arrival.caller))
            .instrument(span)
            .await;
        call.queue = waiting_since.elapsed();
        match entered {
            Some(Ok(slot)) => {
                call.started = Some(Instant::now());
                self.observer.started(call.id);
                Ok(slot)
            }
            Some(Err(full)) => Err(status::full(full.waiting, full)),
            None => Err(timed_out(&call.image, deadline)),
        }
    }

    /// Runs on a thread that may block. When the caller goes away this future is dropped, and with it go the slot and
    /// the function.
    async fn run_here(
        &self,
        call: &mut Call<'_>,
        runner: Arc<dyn Runner>,
        request: &FunctionCall,
    ) -> Result<Result<Evaluated, RunError>, Status> {
        let deadline = request.deadline;
        let lane = Lane::of(runner.is_native(), request.list.len());
        let slot = self.slot(call, lane, deadline).await?;
        let cancel = CancelToken::new();
        let _cancel_on_drop = CancelOnDrop(cancel.clone());
        let evaluation = Evaluation {
            image: call.image.clone(),
            list: request.list.clone(),
            runner,
            words: self.words,
            ctx: RunContext {
                deadline,
                limits: Limits {
                    max_output: call.max_output(),
                    ..Limits::default()
                },
                cancel: cancel.clone(),
                ..RunContext::default()
            },
            max_message_size: call.arrival.max_message_size,
            room: request.room,
        };
        // A process needs no slot once it is killed. A native function runs on until it returns, and until
        // then its thread is in use.
        let (kept, lent) = match lane {
            Lane::Processes | Lane::Forwarded => (Some(slot), None),
            Lane::Small | Lane::Large | Lane::Slow => (None, Some(slot)),
        };
        let span = call.execution(lane);
        let mut task = tokio::task::spawn_blocking(move || {
            let _slot = lent;
            span.in_scope(|| evaluation.evaluate())
        });
        let cancelling = self.lifecycle.reached(Phase::Cancelling);
        let ended = tokio::select! {
            ended = until(deadline, &mut task) => ended,
            () = cancelling => {
                cancel.cancel();
                return Err(status::interrupted(&call.image));
            }
        };
        drop(kept);
        match ended {
            Some(Ok(ran)) => Ok(ran),
            Some(Err(_)) => Err(status::panicked(&call.image)),
            None => Err(timed_out(&call.image, deadline)),
        }
    }
}

/// What every evaluator gets of a call.
struct FunctionCall {
    list: Bytes,
    deadline: Option<Deadline>,
    /// How many bytes of details the caller takes.
    room: usize,
}

/// What is logged in place of a message that may have values of Secrets.
const NOT_LOGGED: &str =
    "the function failed; its message is not logged, because the list may have Secrets";

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
    let announced = metadata
        .get(ROOM_METADATA)
        .and_then(|value| value.to_str().ok());
    let announced = announced.and_then(|text| text.parse().ok());
    announced.unwrap_or(DEFAULT_ROOM).min(MAX_ROOM)
}

struct CancelOnDrop(CancelToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// What is logged and measured about a call. One that is dropped before it ends was cancelled.
struct Call<'a> {
    id: u64,
    observer: &'a dyn Observer,
    span: Span,
    request_id: String,
    image: String,
    arrival: Arrival,
    started: Option<Instant>,
    queue: Duration,
    evaluator: Option<&'static str>,
    exit_code: Option<i32>,
    identity: Option<FunctionIdentity>,
    request_bytes: usize,
    response_bytes: usize,
    /// Whether the list may have Secrets: then what the function printed and reported is not logged.
    may_have_secrets: bool,
    end: Option<(Code, Option<String>)>,
}

impl<'a> Call<'a> {
    fn new(
        service: &'a Service,
        metadata: &MetadataMap,
        image: String,
        list: &Bytes,
        arrival: Arrival,
    ) -> Call<'a> {
        let request_id = request_id(metadata);
        let span = tracing::info_span!(
            "evaluate",
            otel.kind = "server",
            request_id = request_id.as_str(),
            image = image.as_str(),
            evaluator = field::Empty,
        );
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Call {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            observer: service.observer.as_ref(),
            span,
            request_id,
            image,
            arrival,
            started: None,
            queue: Duration::ZERO,
            evaluator: None,
            exit_code: None,
            identity: None,
            request_bytes: list.len(),
            response_bytes: 0,
            may_have_secrets: may_have_secrets(list),
            end: None,
        }
    }

    fn begin(&self, metadata: &MetadataMap) {
        let begun = ArrivedCall {
            call: self.id,
            request_id: &self.request_id,
            image: &self.image,
            request_bytes: self.request_bytes,
            metadata,
        };
        self.observer.begun(&self.span, &begun);
    }

    /// The span of the function's work: that of the call if steps are not logged.
    fn execution(&self, lane: Lane) -> Span {
        let step = tracing::debug_span!(parent: &self.span, "execute", lane = lane.name());
        match step.is_disabled() {
            true => self.span.clone(),
            false => step,
        }
    }

    /// How much a function may write, the list and what it prints together.
    fn max_output(&self) -> u64 {
        2 * self.arrival.max_message_size as u64
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
            Err(status) => (status.code(), Some(self.logged(status).to_owned())),
        });
    }

    /// The message of a failed call for logs, traces and the status page.
    fn logged<'s>(&self, status: &'s Status) -> &'s str {
        let is_own = matches!(
            status.code(),
            Code::Cancelled
                | Code::DeadlineExceeded
                | Code::NotFound
                | Code::PermissionDenied
                | Code::ResourceExhausted
                | Code::Unavailable
        );
        match self.may_have_secrets && !is_own {
            true => NOT_LOGGED,
            false => status.message(),
        }
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        let (code, message) = self.end.take().unwrap_or_else(|| {
            let message = "the caller went away".to_owned();
            (Code::Cancelled, Some(message))
        });
        let finished = Finished {
            call: self.id,
            request_id: &self.request_id,
            image: &self.image,
            evaluator: self.evaluator,
            code,
            message: message.as_deref().unwrap_or_default(),
            queue: self.queue,
            execution: self.started.map(|started| started.elapsed()),
            total: self.arrival.at.elapsed(),
            request_bytes: self.request_bytes,
            response_bytes: self.response_bytes,
            exit_code: self.exit_code,
        };
        self.observer.finished(&self.span, &finished);
        macro_rules! log {
            ($level:ident, $text:literal) => {
                tracing::$level!(
                    parent: &self.span,
                    request_id = finished.request_id,
                    image = finished.image,
                    evaluator = finished.evaluator,
                    code = ?finished.code,
                    exit_code = finished.exit_code,
                    identity = self.identity.as_ref().map(FunctionIdentity::as_str),
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
            Code::Ok => log!(info, "evaluated"),
            Code::Internal | Code::Unavailable => log!(warn, "evaluation failed"),
            _ => log!(info, "evaluation refused or given up"),
        }
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// The request ID of the caller, if it is fit for a log, or a new one.
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
