//! From serving through draining to the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, watch};

/// Where a server is in its life; it only goes on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Phase {
    /// Calls are taken.
    Serving,
    /// Calls that run may finish, new ones are refused.
    Draining,
    /// Calls that run are cancelled.
    Cancelling,
    /// No call runs any more; connections say their last.
    Finishing,
    /// Nothing is done any more.
    Ended,
}

/// The state that all parts of a server share.
#[derive(Debug)]
pub(crate) struct Lifecycle {
    phase: watch::Sender<Phase>,
    calls: AtomicUsize,
    idle: Notify,
    began: Instant,
    /// When the last call was over, in milliseconds since the beginning.
    last_over: AtomicU64,
}

/// Makes a server end. Clones are the same.
#[derive(Clone, Debug)]
pub struct Stop {
    lifecycle: Arc<Lifecycle>,
}

impl Stop {
    /// No new calls; those that run may finish in the time that the server was told to give them.
    pub fn drain(&self) {
        self.lifecycle.advance(Phase::Draining);
    }

    /// No new calls, and those that run are cancelled.
    pub fn now(&self) {
        self.lifecycle.advance(Phase::Cancelling);
    }
}

impl Lifecycle {
    pub(crate) fn new() -> Arc<Lifecycle> {
        Arc::new(Lifecycle {
            phase: watch::Sender::new(Phase::Serving),
            calls: AtomicUsize::new(0),
            idle: Notify::new(),
            began: Instant::now(),
            last_over: AtomicU64::new(0),
        })
    }

    pub(crate) fn stop(self: &Arc<Lifecycle>) -> Stop {
        Stop {
            lifecycle: Arc::clone(self),
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        *self.phase.borrow()
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Phase> {
        self.phase.subscribe()
    }

    /// Goes on to a phase, unless it is over already.
    pub(crate) fn advance(&self, to: Phase) {
        self.phase.send_if_modified(|phase| {
            let goes_on = *phase < to;
            *phase = (*phase).max(to);
            goes_on
        });
    }

    /// Waits until a phase has begun.
    pub(crate) async fn reached(&self, wanted: Phase) {
        let mut phase = self.phase.subscribe();
        // The sender lives as long as we do.
        let _ = phase.wait_for(|phase| *phase >= wanted).await;
    }

    /// A call begins; none if the server takes no more.
    pub(crate) fn begin(self: &Arc<Lifecycle>) -> Option<Running> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let running = Running {
            lifecycle: Arc::clone(self),
        };
        // Looked at after the call was counted, so that whoever waits for the last one does not miss it.
        (self.phase() == Phase::Serving).then_some(running)
    }

    /// How long there has been no call.
    pub(crate) fn unused_for(&self) -> Duration {
        if self.calls.load(Ordering::SeqCst) > 0 {
            return Duration::ZERO;
        }
        let last_over = Duration::from_millis(self.last_over.load(Ordering::SeqCst));
        self.began.elapsed().saturating_sub(last_over)
    }

    /// Waits until no call runs.
    pub(crate) async fn idle(&self) {
        loop {
            let notified = self.idle.notified();
            if self.calls.load(Ordering::SeqCst) == 0 {
                return;
            }
            notified.await;
        }
    }
}

/// A call that runs, until dropped.
pub(crate) struct Running {
    lifecycle: Arc<Lifecycle>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let now = self.lifecycle.began.elapsed().as_millis();
        let now = u64::try_from(now).unwrap_or(u64::MAX);
        self.lifecycle.last_over.fetch_max(now, Ordering::SeqCst);
        if self.lifecycle.calls.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.lifecycle.idle.notify_waiters();
        }
    }
}
