//! Cancellation of running work.
//!
//! Cancelling wakes the threads that wait, so no thread has to poll. It takes a lock: call it from a thread that waits
//! for signals, not from a signal handler.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Shared by the caller that may cancel and the work that it cancels. Clones are the same token.
#[derive(Clone, Default)]
pub struct CancelToken {
    state: Arc<Mutex<CancelState>>,
}

#[derive(Default)]
struct CancelState {
    cancelled: bool,
    next_id: u64,
    listeners: Vec<(u64, Box<dyn Fn() + Send>)>,
}

/// Removes the listener when dropped.
#[must_use = "dropping the guard removes the listener"]
pub struct CancelGuard {
    state: Arc<Mutex<CancelState>>,
    id: u64,
}

impl CancelToken {
    pub fn new() -> CancelToken {
        CancelToken::default()
    }

    /// Cancels, which cannot be undone, and calls every listener.
    pub fn cancel(&self) {
        let mut state = lock(&self.state);
        state.cancelled = true;
        for (_, listener) in std::mem::take(&mut state.listeners) {
            listener();
        }
    }

    pub fn is_cancelled(&self) -> bool {
        lock(&self.state).cancelled
    }

    /// Whether work is running that heeds the token.
    pub fn has_listeners(&self) -> bool {
        !lock(&self.state).listeners.is_empty()
    }

    /// Calls `listener` on cancellation, at once if that has happened already. It must be quick and must not use the
    /// token.
    pub fn on_cancel(&self, listener: impl Fn() + Send + 'static) -> CancelGuard {
        let mut state = lock(&self.state);
        let id = state.next_id;
        state.next_id += 1;
        if state.cancelled {
            listener();
        } else {
            state.listeners.push((id, Box::new(listener)));
        }
        CancelGuard {
            state: Arc::clone(&self.state),
            id,
        }
    }
}

impl Drop for CancelGuard {
    fn drop(&mut self) {
        lock(&self.state).listeners.retain(|(id, _)| *id != self.id);
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelToken")
            .field("cancelled", &self.is_cancelled())
            .finish()
    }
}

fn lock(state: &Mutex<CancelState>) -> MutexGuard<'_, CancelState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
