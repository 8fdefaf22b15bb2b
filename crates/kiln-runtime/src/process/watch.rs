//! Checks periodically what a confined function uses.

use std::time::{Duration, Instant};

use kiln_sandbox::Excess;
use rustix::process::Pid;

use super::confined::ConfinedRun;

/// The limits of each process bound what a function can use in this time. Most functions have exited by then, on a busy
/// machine too; a check reads the states of all processes of the system.
const INTERVAL: Duration = Duration::from_millis(100);

pub(super) struct UsageWatch<'a> {
    confined_run: &'a ConfinedRun<'a>,
    leader: Pid,
    next: Instant,
}

impl<'a> UsageWatch<'a> {
    pub(super) fn new(confined_run: &'a ConfinedRun<'a>, leader: Pid) -> UsageWatch<'a> {
        let next = Instant::now() + INTERVAL;
        UsageWatch {
            confined_run,
            leader,
            next,
        }
    }

    pub(super) fn time_left(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }

    /// Checks, if it is time, and returns which limit is exceeded.
    pub(super) fn check(&mut self) -> Option<Excess> {
        if !self.time_left().is_zero() {
            return None;
        }
        let excess = self.confined_run.excess(self.leader);
        self.next = Instant::now() + INTERVAL;
        excess
    }
}
