//! The phases of a server: serving, draining, ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, watch};

/// The phase of a server; it only advances.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Phase {
    Serving,
    /// Running calls may finish, new ones are refused.
    Draining,
    /// Running calls are cancelled.
    Cancelling,
    /// No call runs any more; connections send their last responses.
    Finishing,
    Ended,
}

/// The state that all parts of a server share.
#[derive(Debug)]
pub(crate) struct Lifecycle {
    phase: watch::Sender<Phase>,
    calls: AtomicUsize,
    idle: Notify,
    began: Instant,
    /// When the last call ended, in milliseconds since the start.
    last_over: AtomicU64,
}

/// Stops a server. Clones are the same handle.
#[derive(Clone, Debug)]
pub struct StopHandle {
    lifecycle: Arc<Lifecycle>,
}

impl StopHandle {
    /// Refuses new calls; running ones may finish within the drain timeout.
    pub fn drain(&self) {
        self.lifecycle.advance(Phase::Draining);
    }

    /// Refuses new calls and cancels running ones.
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

    pub(crate) fn stop(self: &Arc<Lifecycle>) -> StopHandle {
        StopHandle {
            lifecycle: Arc::clone(self),
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        *self.phase.borrow()
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Phase> {
        self.phase.subscribe()
    }

    /// Advances to a phase, unless it is over already.
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

    /// Starts a call; `None` if the server takes no more.
    pub(crate) fn begin(self: &Arc<Lifecycle>) -> Option<ActiveCall> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let running = ActiveCall {
            lifecycle: Arc::clone(self),
        };
        // Checked after the call was counted, so that a task that waits for the last call does not miss it.
        (self.phase() == Phase::Serving).then_some(running)
    }

    /// How long the server has been idle.
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
pub(crate) struct ActiveCall {
    lifecycle: Arc<Lifecycle>,
}

impl Drop for ActiveCall {
    fn drop(&mut self) {
        let now = self.lifecycle.began.elapsed().as_millis();
        let now = u64::try_from(now).unwrap_or(u64::MAX);
        self.lifecycle.last_over.fetch_max(now, Ordering::SeqCst);
        if self.lifecycle.calls.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.lifecycle.idle.notify_waiters();
        }
    }
}
