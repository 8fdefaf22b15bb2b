//! The running children: a program that has to exit at once kills them, and they are not orphans.

use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

use kiln_sandbox::StartedProcess;
use rustix::process::Pid;

use super::kill;

/// Whether starting children is over. Threads that start children hold a read lock, any number at a time; closing and
/// listing take the write lock and so wait until no thread is between starting a child and recording it.
static IS_CLOSED: RwLock<bool> = RwLock::new(false);

static CHILDREN: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// Starts a child and records it; `None` if starting children is over.
pub(super) fn start<E>(
    spawn: impl FnOnce() -> Result<StartedProcess, E>,
) -> Result<Option<StartedProcess>, E> {
    let is_closed = IS_CLOSED.read().unwrap_or_else(PoisonError::into_inner);
    if *is_closed {
        return Ok(None);
    }
    let started = spawn()?;
    lock().push(started.id);
    Ok(Some(started))
}

/// Removes a child that has exited or been killed and is about to be waited for: afterwards its ID may be used again.
pub(super) fn forget(child: Pid) {
    lock().retain(|known| *known != child);
}

/// The running children, including all that were started before the call.
pub(super) fn children() -> Vec<Pid> {
    let _no_child_starts = IS_CLOSED.write().unwrap_or_else(PoisonError::into_inner);
    lock().clone()
}

/// Kills all children with everything that they started. No child is started from now on.
pub(super) fn close() {
    let children = {
        let mut is_closed = IS_CLOSED.write().unwrap_or_else(PoisonError::into_inner);
        *is_closed = true;
        lock().clone()
    };
    for child in children {
        kill::kill_all(child);
    }
}

fn lock() -> MutexGuard<'static, Vec<Pid>> {
    CHILDREN.lock().unwrap_or_else(PoisonError::into_inner)
}
