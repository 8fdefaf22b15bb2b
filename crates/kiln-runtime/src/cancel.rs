//! A way to tell everybody at work that the caller has given up.
//!
//! It wakes those who wait; nobody polls. It takes a lock, so it belongs into a thread that waits for signals, not into
//! a signal handler.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Shared by the one who may give up and those who work for him. Clones are the same token.
#[derive(Clone, Default)]
pub struct CancelToken {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    cancelled: bool,
    next_id: u64,
    listeners: Vec<(u64, Box<dyn Fn() + Send>)>,
}

/// Ends a listener's interest when dropped.
#[must_use = "dropping the guard ends the listening"]
pub struct CancelGuard {
    state: Arc<Mutex<State>>,
    id: u64,
}

impl CancelToken {
    /// A token that nobody has cancelled.
    pub fn new() -> CancelToken {
        CancelToken::default()
    }

    /// Gives up, once and for all, and tells every listener.
    pub fn cancel(&self) {
        let mut state = lock(&self.state);
        state.cancelled = true;
        for (_, listener) in std::mem::take(&mut state.listeners) {
            listener();
        }
    }

    /// Whether somebody gave up.
    pub fn is_cancelled(&self) -> bool {
        lock(&self.state).cancelled
    }

    /// Calls `listener` when somebody gives up, at once if that has happened already. It must be quick and must not use
    /// the token.
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

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
