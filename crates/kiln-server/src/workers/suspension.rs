//! Workers that wait: their processes are stopped, and go on where they were.

use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many workers may be suspended for each spare worker. Each keeps its memory.
const PER_SPARE: usize = 4;

/// Room for suspended workers.
pub(super) struct Suspensions {
    room: Arc<Semaphore>,
}

/// A suspended worker. It goes on when this is dropped, which must be before its process is waited for.
pub(super) struct Suspension {
    process: Pid,
    _room: OwnedSemaphorePermit,
}

impl Suspensions {
    pub(super) fn new(spare: usize) -> Suspensions {
        let count = spare.saturating_mul(PER_SPARE).min(Semaphore::MAX_PERMITS);
        Suspensions {
            room: Arc::new(Semaphore::new(count)),
        }
    }

    /// Suspends a process; `None` if there is no room, or no such process.
    pub(super) fn suspend(&self, process: Option<u32>) -> Option<Suspension> {
        let room = Arc::clone(&self.room).try_acquire_owned().ok()?;
        let process = Pid::from_raw(i32::try_from(process?).ok()?)?;
        kill_process(process, Signal::STOP).ok()?;
        Some(Suspension {
            process,
            _room: room,
        })
    }
}

impl Drop for Suspension {
    fn drop(&mut self) {
        // A process that has exited meanwhile is noticed by its socket.
        let _ = kill_process(self.process, Signal::CONT);
    }
}
