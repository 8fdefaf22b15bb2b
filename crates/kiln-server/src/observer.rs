//! Where counters and traces attach.

use std::time::Duration;

use tonic::Code;
use tonic::metadata::MetadataMap;
use tracing::Span;

use crate::admission::Lane;

/// Hears what a server does. Methods are called on threads that serve connections and must not block.
pub trait Observer: Send + Sync {
    /// A call has come in: `span` is that of the whole call, and what the caller sent may say to which trace it
    /// belongs. The spans `queue` and `execute` are inside.
    fn begun(&self, span: &Span, metadata: &MetadataMap) {
        let _ = (span, metadata);
    }

    /// The number of calls that wait for a place has changed by so much. It is the change that is told, because several
    /// threads tell at once: their changes add up in any order, where the last of their totals may be an old one.
    fn waiting(&self, lane: Lane, change: i64) {
        let _ = (lane, change);
    }

    /// The number of calls that have a place has changed by so much.
    fn running(&self, lane: Lane, change: i64) {
        let _ = (lane, change);
    }

    /// A call is over, however it ended; `span` is the one that it began with.
    fn finished(&self, span: &Span, call: &Finished<'_>) {
        let _ = (span, call);
    }
}

/// Hears nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {}

/// A call that is over.
#[derive(Clone, Debug)]
pub struct Finished<'a> {
    /// What the caller called it, or what we do.
    pub request_id: &'a str,
    /// The reference of the function's image, as the caller sent it.
    pub image: &'a str,
    /// Who ran the function; none if nobody was found.
    pub evaluator: Option<&'static str>,
    /// The answer; `Cancelled` also for callers who went away.
    pub code: Code,
    /// The text of an answer that is not a list.
    pub message: &'a str,
    /// How long it waited for a place.
    pub queue: Duration,
    /// How long it had one; none if it never did.
    pub execution: Option<Duration>,
    /// From the first byte to the answer.
    pub total: Duration,
    /// The size of the list that came, in bytes.
    pub request_bytes: usize,
    /// The size of the list that goes back, in bytes.
    pub response_bytes: usize,
    /// How the function exited; none if it did not.
    pub exit_code: Option<i32>,
}
