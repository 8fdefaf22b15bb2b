//! The children that are running, so that a program that has to end at once can take them with it, and so that they
//! are not taken for orphans.

use std::io;
use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};

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
pub(super) fn start(spawn: impl FnOnce() -> io::Result<Child>) -> io::Result<Option<Child>> {
    let mut registry = lock();
    if registry.is_closed {
        return Ok(None);
    }
    let child = spawn()?;
    registry.children.push(Pid::from_child(&child));
    Ok(Some(child))
}

/// Forgets a child that has ended or been killed and is about to be waited for: afterwards its number may be another's.
pub(super) fn forget(child: &Child) {
    let child = Pid::from_child(child);
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
