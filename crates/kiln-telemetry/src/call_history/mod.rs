//! The calls of the last hour, for the status page.
//!
//! It keeps counts per function and minute, the last calls, the last failures and what runs now. Nothing of an input or an output
//! is kept, and messages only if that is wanted. Everything is limited in number and size, and a call holds each lock only for a
//! few steps: a snapshot copies what it needs and computes later.

mod function_history;
mod snapshot;
mod times;

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime};

use kiln_server::{ArrivedCall, Finished, Lane};
use tonic::Code;

use crate::image_labels::{ImageLabels, MAX_IMAGE_LENGTH};
use crate::metrics::{code_name, failure_class};
use function_history::FunctionHistory;
pub use snapshot::{
    CallWindow, EndedCall, FailedCall, FailureMessages, FunctionCalls, HistorySnapshot, LaneLoad,
    TimeBucket, UnfinishedCall,
};

/// The number of ended calls that are kept.
const RECENT_CALLS: usize = 1_000;

/// Running calls are in so many maps, so that calls seldom wait for each other.
const SHARDS: usize = 16;

/// The name of the evaluator of a function that was not found.
const NO_EVALUATOR: &str = "none";

/// What happened to calls, and what runs now.
pub struct CallHistory {
    began: Instant,
    began_at: SystemTime,
    keeps_messages: bool,
    labels: ImageLabels,
    lanes: [LaneCounts; Lane::ALL.len()],
    unfinished: [Mutex<HashMap<u64, UnfinishedCall>>; SHARDS],
    functions: RwLock<HashMap<FunctionKey, Arc<Mutex<FunctionHistory>>>>,
    recent: Mutex<VecDeque<EndedCall>>,
}

/// Image and evaluator.
type FunctionKey = (Arc<str>, &'static str);

#[derive(Default)]
struct LaneCounts {
    running: AtomicI64,
    waiting: AtomicI64,
}

impl CallHistory {
    /// An empty history. Messages of failed calls may contain parts of lists.
    pub fn new(messages: FailureMessages) -> CallHistory {
        CallHistory {
            began: Instant::now(),
            began_at: SystemTime::now(),
            keeps_messages: messages == FailureMessages::Keep,
            labels: ImageLabels::default(),
            lanes: Default::default(),
            unfinished: Default::default(),
            functions: RwLock::default(),
            recent: Mutex::new(VecDeque::with_capacity(RECENT_CALLS)),
        }
    }

    /// Whether messages of failed calls are kept.
    pub fn keeps_messages(&self) -> bool {
        self.keeps_messages
    }

    /// A call has arrived.
    pub(crate) fn begun(&self, call: &ArrivedCall<'_>, trace_id: Option<String>) {
        let now = self.began.elapsed();
        let open = UnfinishedCall {
            call: call.call,
            request_id: call.request_id.into(),
            trace_id: trace_id.map(String::into_boxed_str),
            image: cut(call.image).into(),
            request_bytes: call.request_bytes,
            arrived: now,
            with: None,
            is_running: false,
            since: now,
        };
        self.shard(call.call).insert(call.call, open);
    }

    /// A call waits for a slot.
    pub(crate) fn queued(&self, call: u64, evaluator: &'static str, lane: Lane) {
        let now = self.began.elapsed();
        if let Some(open) = self.shard(call).get_mut(&call) {
            open.with = Some((evaluator, lane));
            open.is_running = false;
            open.since = now;
        }
    }

    /// A call has its slot.
    pub(crate) fn started(&self, call: u64) {
        let now = self.began.elapsed();
        if let Some(open) = self.shard(call).get_mut(&call) {
            open.is_running = true;
            open.since = now;
        }
    }

    /// The number of waiting calls has changed.
    pub(crate) fn waiting(&self, lane: Lane, change: i64) {
        if let Some(counts) = self.lane(lane) {
            counts.waiting.fetch_add(change, Ordering::Relaxed);
        }
    }

    /// The number of running calls has changed.
    pub(crate) fn running(&self, lane: Lane, change: i64) {
        if let Some(counts) = self.lane(lane) {
            counts.running.fetch_add(change, Ordering::Relaxed);
        }
    }

    /// A call has ended.
    pub(crate) fn finished(&self, call: &Finished<'_>) {
        self.finished_at(self.began.elapsed(), call);
    }

    fn finished_at(&self, now: Duration, call: &Finished<'_>) {
        let open = self.shard(call.call).remove(&call.call);
        let (request_id, trace_id, image) = match open {
            Some(open) => (open.request_id, open.trace_id, open.image),
            None => (call.request_id.into(), None, cut(call.image).into()),
        };
        let failure = (call.code != Code::Ok).then(|| FailedCall {
            call: call.call,
            ended: now,
            code: code_name(call.code),
            class: failure_class(call.code),
            exit_code: call.exit_code,
            message: self
                .keeps_messages
                .then(|| function_history::cut_message(call.message).into()),
        });
        let ended = EndedCall {
            call: call.call,
            request_id,
            trace_id,
            image,
            evaluator: call.evaluator,
            ended: now,
            code: code_name(call.code),
            class: failure.as_ref().map(|failure| failure.class),
            exit_code: call.exit_code,
            queue: call.queue,
            execution: call.execution,
            total: call.total,
            request_bytes: call.request_bytes,
            response_bytes: call.response_bytes,
        };
        let function = self.function(call);
        lock(&function).count(now, call.total, failure);
        let mut recent = lock(&self.recent);
        let oldest = match recent.len() < RECENT_CALLS {
            true => None,
            false => recent.pop_front(),
        };
        recent.push_back(ended);
        drop(recent);
        // Freed without the lock.
        drop(oldest);
    }

    /// The history of the function that a call was for.
    fn function(&self, call: &Finished<'_>) -> Arc<Mutex<FunctionHistory>> {
        let key = (
            self.labels.label(call),
            call.evaluator.unwrap_or(NO_EVALUATOR),
        );
        let functions = self.functions.read();
        let functions = functions.unwrap_or_else(PoisonError::into_inner);
        if let Some(function) = functions.get(&key) {
            return Arc::clone(function);
        }
        drop(functions);
        let functions = self.functions.write();
        let mut functions = functions.unwrap_or_else(PoisonError::into_inner);
        Arc::clone(functions.entry(key).or_default())
    }

    fn lane(&self, lane: Lane) -> Option<&LaneCounts> {
        let mut lanes = Lane::ALL.iter().zip(&self.lanes);
        lanes.find_map(|(known, counts)| (*known == lane).then_some(counts))
    }

    fn shard(&self, call: u64) -> MutexGuard<'_, HashMap<u64, UnfinishedCall>> {
        let number = usize::try_from(call % SHARDS as u64).unwrap_or_default();
        lock(&self.unfinished[number])
    }
}

/// A reference that is not longer than the longest label.
fn cut(image: &str) -> &str {
    &image[..image.floor_char_boundary(MAX_IMAGE_LENGTH)]
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
