//! The interface for metrics and traces.

use std::time::Duration;

use tonic::Code;
use tonic::metadata::MetadataMap;
use tracing::Span;

use crate::admission::Lane;

/// Is notified of what a server does. Methods are called on threads that serve connections and must not block.
pub trait Observer: Send + Sync {
    /// A call has arrived: `span` is that of the whole call. The spans `queue` and `execute` are inside.
    fn begun(&self, span: &Span, call: &ArrivedCall<'_>) {
        let _ = (span, call);
    }

    /// A call waits for a slot. This happens again if the next evaluator is tried.
    fn queued(&self, call: u64, evaluator: &'static str, lane: Lane) {
        let _ = (call, evaluator, lane);
    }

    /// A call has its slot.
    fn started(&self, call: u64) {
        let _ = call;
    }

    /// The number of waiting calls has changed by `change`. It is the change and not the total, because several threads
    /// report at once: changes add up in any order, while the last total may be an old one.
    fn waiting(&self, lane: Lane, change: i64) {
        let _ = (lane, change);
    }

    /// The number of running calls has changed by `change`.
    fn running(&self, lane: Lane, change: i64) {
        let _ = (lane, change);
    }

    /// An answer of a function was looked up: `hit`, `miss`, `joined` or `differs`.
    fn looked_up(&self, outcome: &'static str) {
        let _ = outcome;
    }

    /// A call has ended; `span` is the one that it started with.
    fn finished(&self, span: &Span, call: &Finished<'_>) {
        let _ = (span, call);
    }
}

/// Does nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {}

/// A call that has arrived.
#[derive(Clone, Debug)]
pub struct ArrivedCall<'a> {
    /// A number that no other call of this process has.
    pub call: u64,
    /// The caller's request ID, or a generated one.
    pub request_id: &'a str,
    /// The reference of the function's image, as the caller sent it.
    pub image: &'a str,
    /// Size of the list in the request.
    pub request_bytes: usize,
    /// What the caller sent besides; it may name its trace.
    pub metadata: &'a MetadataMap,
}

/// A call that has ended.
#[derive(Clone, Debug)]
pub struct Finished<'a> {
    /// [`ArrivedCall::call`].
    pub call: u64,
    /// The caller's request ID, or a generated one.
    pub request_id: &'a str,
    /// The reference of the function's image, as the caller sent it.
    pub image: &'a str,
    /// The evaluator that ran the function; `None` if the function was not found.
    pub evaluator: Option<&'static str>,
    /// The status code; also `Cancelled` if the caller disconnected.
    pub code: Code,
    /// The text of a status that is not OK.
    pub message: &'a str,
    /// Time in the queue.
    pub queue: Duration,
    /// Execution time; `None` if it was not executed.
    pub execution: Option<Duration>,
    /// From the first byte to the response.
    pub total: Duration,
    /// Size of the list in the request.
    pub request_bytes: usize,
    /// Size of the list in the response.
    pub response_bytes: usize,
    /// The exit code of the function, if it exited.
    pub exit_code: Option<i32>,
}
