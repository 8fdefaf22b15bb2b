//! The children that are running, so that a program that has to end at once can take them with it, and so that they
//! are not taken for orphans.

use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

use kiln_sandbox::Started;
use rustix::process::Pid;

use super::kill;

/// Whether no more children are wanted. Those who start children hold it open, any number at a time; who closes it, or
/// has to know all children, waits until nobody is between starting one and noting it.
static IS_CLOSED: RwLock<bool> = RwLock::new(false);

static CHILDREN: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// Starts a child and notes it; none if no more children are wanted.
pub(super) fn start<E>(spawn: impl FnOnce() -> Result<Started, E>) -> Result<Option<Started>, E> {
    let is_closed = IS_CLOSED.read().unwrap_or_else(PoisonError::into_inner);
    if *is_closed {
        return Ok(None);
    }
    let started = spawn()?;
    lock().push(started.id);
    Ok(Some(started))
}

/// Forgets a child that has ended or been killed and is about to be waited for: afterwards its number may be another's.
pub(super) fn forget(child: Pid) {
    lock().retain(|known| *known != child);
}

/// The children that are running, all that were started before the call among them.
pub(super) fn children() -> Vec<Pid> {
    let _nobody_starts = IS_CLOSED.write().unwrap_or_else(PoisonError::into_inner);
    lock().clone()
}

/// Kills all children with everything that they started. None is started from now on.
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
