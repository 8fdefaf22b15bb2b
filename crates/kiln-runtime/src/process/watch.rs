//! Looking now and then at what a confined function uses.

use std::time::{Duration, Instant};

use kiln_sandbox::{Cell, Excess};
use rustix::process::Pid;

/// What a function can do in that time is bounded by the limits of its processes. Most functions have ended by then, on a
/// busy machine too, and no look was needed: a look reads the states of all processes of the system.
const INTERVAL: Duration = Duration::from_millis(100);

/// When to look next.
pub(super) struct Watch<'a> {
    cell: &'a Cell,
    leader: Pid,
    next: Instant,
}

impl<'a> Watch<'a> {
    pub(super) fn new(cell: &'a Cell, leader: Pid) -> Watch<'a> {
        let next = Instant::now() + INTERVAL;
        Watch { cell, leader, next }
    }

    /// How long until the next look.
    pub(super) fn patience(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }

    /// Looks, if it is time, and says what there is too much of.
    pub(super) fn look(&mut self) -> Option<Excess> {
        if !self.patience().is_zero() {
            return None;
        }
        let excess = self.cell.excess(self.leader);
        self.next = Instant::now() + INTERVAL;
        excess
    }
}
