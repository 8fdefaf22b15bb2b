//! The children that are running, so that a program that has to end at once can take them with it, and so that they
//! are not taken for orphans.

use std::sync::{Mutex, MutexGuard, PoisonError};

use kiln_sandbox::Started;
use rustix::process::Pid;

use super::kill;

static REGISTRY: Mutex<Registry> = Mutex::new(Registry {
    is_closed: false,
    children: Vec::new(),
});

struct Registry {
    is_closed: bool,
    children: Vec<Pid>,
}

/// Starts a child and notes it, with no moment in between; none if no more children are wanted.
pub(super) fn start<E>(spawn: impl FnOnce() -> Result<Started, E>) -> Result<Option<Started>, E> {
    let mut registry = lock();
    if registry.is_closed {
        return Ok(None);
    }
    let started = spawn()?;
    registry.children.push(started.id);
    Ok(Some(started))
}

/// Forgets a child that has ended or been killed and is about to be waited for: afterwards its number may be another's.
pub(super) fn forget(child: Pid) {
    lock().children.retain(|known| *known != child);
}

/// The children that are running.
pub(super) fn children() -> Vec<Pid> {
    lock().children.clone()
}

/// Kills all children with everything that they started. None is started from now on.
pub(super) fn close() {
    let children = {
        let mut registry = lock();
        registry.is_closed = true;
        registry.children.clone()
    };
    for child in children {
        kill::kill_all(child);
    }
}

fn lock() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}
