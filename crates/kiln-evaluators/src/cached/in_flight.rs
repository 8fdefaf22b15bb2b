//! Calls with one key that run at the same time: one runs, all get its answer.
//!
//! A call that ends without an answer to share, because its caller gave up or the function failed, holds up no other: one of
//! those that wait takes over, or each runs for itself.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use kiln_runtime::{RunContext, RunError};
use kiln_store::ResultKey;

use super::answer::Answer;

/// The calls that are running.
#[derive(Default)]
pub(super) struct CallsInFlight {
    calls: Mutex<HashMap<ResultKey, Arc<CallInFlight>>>,
}

#[derive(Default)]
struct CallInFlight {
    state: Mutex<CallState>,
    changed: Condvar,
}

#[derive(Default)]
enum CallState {
    #[default]
    Running,
    Answered(Answer),
    /// The function gave no answer that can be shared, and would not give one to another caller either.
    NotShared,
    /// The caller gave up.
    Abandoned,
}

/// What to do about a call.
pub(super) enum Joined<'a> {
    /// Run it. The answer is passed to all that wait.
    Run(LeadingCall<'a>),
    /// Another call got this answer.
    Answer(Answer),
    /// Run it without waiting for others.
    RunAlone,
}

/// A call that others wait for. Dropping it lets another one take over.
pub(super) struct LeadingCall<'a> {
    calls: &'a CallsInFlight,
    key: ResultKey,
    call: Arc<CallInFlight>,
    /// Whether it waited for a call that was abandoned: an answer may be there by now.
    pub(super) has_waited: bool,
}

impl CallsInFlight {
    /// Waits for a running call with the same key, if there is one.
    pub(super) fn join(&self, key: &ResultKey, ctx: &RunContext) -> Result<Joined<'_>, RunError> {
        let mut has_waited = false;
        loop {
            let call = {
                let mut calls = lock(&self.calls);
                match calls.get(key) {
                    Some(call) => Arc::clone(call),
                    None => {
                        let call = Arc::<CallInFlight>::default();
                        calls.insert(key.clone(), Arc::clone(&call));
                        return Ok(Joined::Run(LeadingCall {
                            calls: self,
                            key: key.clone(),
                            call,
                            has_waited,
                        }));
                    }
                }
            };
            if let Some(joined) = call.wait(ctx)? {
                return Ok(joined);
            }
            has_waited = true;
        }
    }
}

impl CallInFlight {
    /// Waits until the call ends. `None` if its caller gave up.
    fn wait<'a>(
        self: &Arc<CallInFlight>,
        ctx: &RunContext,
    ) -> Result<Option<Joined<'a>>, RunError> {
        let waker = Arc::clone(self);
        // Not the token itself, whose lock is held while listeners are called.
        let is_cancelled = Arc::new(AtomicBool::new(false));
        let cancelled = Arc::clone(&is_cancelled);
        let _guard = ctx.cancel.on_cancel(move || {
            // Under the lock, so that no wake-up is lost between the check and the wait.
            let _state = lock(&waker.state);
            cancelled.store(true, Ordering::Relaxed);
            waker.changed.notify_all();
        });
        let mut state = lock(&self.state);
        loop {
            match &*state {
                CallState::Running => {}
                CallState::Answered(answer) => return Ok(Some(Joined::Answer(answer.clone()))),
                CallState::NotShared => return Ok(Some(Joined::RunAlone)),
                CallState::Abandoned => return Ok(None),
            }
            if is_cancelled.load(Ordering::Relaxed) {
                return Err(RunError::Cancelled);
            }
            state = match ctx.deadline {
                None => self
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.at.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Err(RunError::TimedOut {
                            timeout: deadline.timeout,
                            stderr: Vec::new(),
                        });
                    }
                    let waited = self.changed.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    fn end(&self, end: CallState) {
        *lock(&self.state) = end;
        self.changed.notify_all();
    }
}

impl LeadingCall<'_> {
    /// Passes the answer on; `None` if the function gave none that can be shared.
    pub(super) fn finish(self, answer: Option<&Answer>) {
        self.call.end(match answer {
            Some(answer) => CallState::Answered(answer.clone()),
            None => CallState::NotShared,
        });
    }
}

impl Drop for LeadingCall<'_> {
    fn drop(&mut self) {
        lock(&self.calls.calls).remove(&self.key);
        let mut state = lock(&self.call.state);
        if matches!(*state, CallState::Running) {
            *state = CallState::Abandoned;
        }
        drop(state);
        self.call.changed.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
