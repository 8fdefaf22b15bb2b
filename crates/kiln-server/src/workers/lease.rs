//! One call in a worker. The lease is a guard: however the call ends, the worker is given back or killed.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use kiln_go::error_chain;
use kiln_proto::evaluator::EvaluateFunctionResponse;
use kiln_proto::failure;
use kiln_runtime::{Deadline, FunctionIdentity};
use tokio::io::AsyncRead;
use tokio::runtime::Handle;
use tokio::time::timeout;
use tonic::{Code, Status};

use super::frame::{FrameBuffer, RequestHead, ResponseHead};
use super::pool::{Shared, WorkerError, WorkerPool};
use super::process::{Death, Worker, WorkerState};
use crate::admission::{Admission, Caller, Full, Slot};
use crate::evaluate::Evaluated;
use crate::status;

/// A call that takes longer is slow: it makes room for others, works with a lower priority, and its worker with it.
const SLOW_AFTER: Duration = Duration::from_millis(100);

/// How long a slow call may run while others wait. One that has to start again gets twice the time.
const TURN: Duration = Duration::from_secs(1);

/// How long a worker may go on with a call that the caller has cancelled. Starting another worker costs more than most
/// calls, so a client that cancels much would otherwise cost more than one that does not.
const CANCEL_GRACE: Duration = Duration::from_millis(50);

/// A worker whose list was larger is not kept: the memory that it needed would stay with it.
const LARGE: usize = 8 * 1024 * 1024;

#[derive(Clone, Debug)]
pub(crate) struct WorkerCall {
    pub(crate) image: String,
    pub(crate) worker_image: String,
    pub(crate) list: Bytes,
    pub(crate) deadline: Option<Deadline>,
    pub(crate) max_output: u64,
    pub(crate) max_message_size: usize,
    pub(crate) room: usize,
}

/// A worker that has one call, and the slot of that call.
pub(crate) struct Lease {
    pool: Arc<Shared>,
    worker: Option<Worker>,
    slot: Option<Slot>,
    is_slow: bool,
    max_body: usize,
    deadline: Option<Deadline>,
}

/// How one run of a call in a worker ended.
enum RunEnd {
    Answered(ResponseHead, Bytes),
    Failed(io::Error),
    /// Others wait, and the worker cannot be suspended.
    Displaced,
    Refused(Full),
}

impl Lease {
    /// Takes a worker for a call that has its slot.
    pub(crate) async fn take(
        pool: &WorkerPool,
        slot: Slot,
        call: &WorkerCall,
    ) -> Result<Lease, WorkerError> {
        let pool = pool.shared();
        Ok(Lease {
            worker: Some(pool.take().await?),
            pool,
            slot: Some(slot),
            is_slow: false,
            max_body: call.max_message_size,
            deadline: call.deadline,
        })
    }

    pub(crate) async fn evaluate(
        &mut self,
        admission: &Admission,
        caller: Caller,
        call: WorkerCall,
    ) -> Evaluated {
        let mut turn = TURN;
        loop {
            match self.run(admission, caller, &call, turn).await {
                RunEnd::Answered(head, body) => {
                    let is_large = call.list.len().max(body.len()) > LARGE;
                    if head.ends || self.is_slow || is_large {
                        self.kill();
                    }
                    return evaluated(head, body);
                }
                RunEnd::Failed(error) => return self.failed(&call.image, &error).await,
                RunEnd::Displaced => {
                    turn = turn.saturating_mul(2);
                    let started = self.start_again(admission, caller, &call.image).await;
                    if let Err(status) = started {
                        return Evaluated::refused(status);
                    }
                }
                RunEnd::Refused(full) => {
                    self.kill();
                    return Evaluated::refused(status::full(full.waiting, full));
                }
            }
        }
    }

    /// Sends the call and waits for the response. A call that turns out to be slow makes room for others, and takes turns
    /// with other slow ones.
    async fn run(
        &mut self,
        admission: &Admission,
        caller: Caller,
        call: &WorkerCall,
        turn: Duration,
    ) -> RunEnd {
        let Some(worker) = self.worker.as_mut() else {
            return RunEnd::Failed(io::ErrorKind::NotConnected.into());
        };
        let id = worker.id();
        let head = call.head();
        let mut exchange = pin!(worker.exchange(&head, call.list.clone(), self.max_body));
        let mut time = match self.is_slow {
            true => turn,
            false => SLOW_AFTER,
        };
        loop {
            if let Ok(answered) = timeout(time, &mut exchange).await {
                return match answered {
                    Ok((head, body)) => RunEnd::Answered(head, body),
                    Err(error) => RunEnd::Failed(error),
                };
            }
            time = turn;
            self.is_slow = true;
            kiln_sandbox::lower_priority(id);
            if admission.goes_on(&mut self.slot) {
                continue;
            }
            let Some(_suspended) = self.pool.suspensions.suspend(id) else {
                return RunEnd::Displaced;
            };
            match admission.next_turn(self.slot.take(), caller).await {
                Ok(slot) => self.slot = Some(slot),
                Err(full) => return RunEnd::Refused(full),
            }
        }
    }

    /// Waits for the next turn of a displaced call without a worker, and takes a new one.
    async fn start_again(
        &mut self,
        admission: &Admission,
        caller: Caller,
        image: &str,
    ) -> Result<(), Status> {
        self.kill();
        let slot = admission.next_turn(self.slot.take(), caller).await;
        self.slot = Some(slot.map_err(|full| status::full(full.waiting, full))?);
        let worker = self.pool.take().await;
        let worker = worker.map_err(|error| status::unavailable(image, &error_chain(&error)))?;
        kiln_sandbox::lower_priority(worker.id());
        self.worker = Some(worker);
        Ok(())
    }

    /// The answer of a call whose worker exited, or sent something invalid.
    async fn failed(&mut self, image: &str, error: &io::Error) -> Evaluated {
        let Some(worker) = self.worker.take() else {
            return Evaluated::refused(status::panicked(image));
        };
        let death = worker.death(error).await;
        self.pool.replace();
        tracing::warn!(image, ?death, "a native function ended its worker");
        Evaluated::refused(self.status(image, &death))
    }

    /// Ends the worker, whatever it does.
    pub(crate) fn kill(&mut self) {
        if let Some(worker) = self.worker.take() {
            self.pool.lose(worker);
        }
    }

    fn status(&self, image: &str, death: &Death) -> Status {
        match death {
            Death::Memory => {
                let limit = kiln_sandbox::Excess::Memory(self.pool.memory());
                let killed = kiln_runtime::RunError::OverLimit(limit);
                status::over_limit(
                    image,
                    &format!("{killed}; --native-memory-limit allows more"),
                )
            }
            Death::Stack => status::over_limit(
                image,
                "function needs more stack than it may have: its input is nested too deeply, or its \
                 configuration recurses too deeply",
            ),
            Death::Other(reason) => status::worker_died(image, reason),
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(mut worker) = self.worker.take() else {
            return;
        };
        let pool = Arc::clone(&self.pool);
        match (worker.state(), Handle::try_current()) {
            (WorkerState::Idle, _) => pool.give_back(worker),
            (WorkerState::Working, Ok(runtime)) if !self.is_slow => {
                let slot = self.slot.take();
                let max_body = self.max_body;
                let now = Instant::now();
                let left = self.deadline.map(|it| it.at.saturating_duration_since(now));
                let grace = left.map_or(CANCEL_GRACE, |left| left.min(CANCEL_GRACE));
                runtime.spawn(async move {
                    let _slot = slot;
                    match timeout(grace, worker.receive(max_body)).await {
                        Ok(Ok((head, _))) if !head.ends => pool.give_back(worker),
                        _ => pool.lose(worker),
                    }
                });
            }
            _ => pool.lose(worker),
        }
    }
}

impl WorkerCall {
    fn head(&self) -> RequestHead {
        let micros = |duration: Duration| u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let left = |deadline: Deadline| deadline.at.saturating_duration_since(Instant::now());
        RequestHead {
            image: self.image.clone(),
            worker_image: self.worker_image.clone(),
            timeout_micros: self.deadline.map(|deadline| micros(left(deadline))),
            given_micros: self.deadline.map_or(0, |deadline| micros(deadline.timeout)),
            max_output: self.max_output,
            max_message_size: self.max_message_size as u64,
            room: self.room as u64,
        }
    }
}

/// Makes answers of all responses that come, as calls do, until one cannot be received. Returns how many there were.
pub(crate) async fn answer_all(
    mut from: impl AsyncRead + Unpin,
    max_body: usize,
) -> (usize, io::Error) {
    let mut received = FrameBuffer::default();
    let mut count = 0;
    loop {
        let (head, body) = match received.next(&mut from, max_body).await {
            Ok(response) => response,
            Err(error) => return (count, error),
        };
        if let Err(status) = evaluated(head, body).answer {
            failure::fit(&status, None).into_http::<()>();
        }
        count += 1;
    }
}

fn evaluated(head: ResponseHead, body: Bytes) -> Evaluated {
    let code = Code::from_i32(head.code);
    let answer = match code {
        Code::Ok => Ok(EvaluateFunctionResponse {
            resource_list: body,
            log: head.log,
        }),
        code => Err(Status::with_details(code, head.message, head.details)),
    };
    Evaluated {
        exit_code: head.exit_code,
        answer,
        warning: Some(head.warning).filter(|warning| !warning.is_empty()),
        identity: FunctionIdentity::reported(&head.identity),
    }
}
