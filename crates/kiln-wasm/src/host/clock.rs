//! The clock of a module.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::{Interrupt, Stop};

/// Which time functions see.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WasmClock {
    /// A clock that starts at the beginning of 1970 and advances by a microsecond with every look at it, so that the
    /// result of a function depends on nothing but its input. A function that sleeps does not wait.
    #[default]
    Fixed,
    /// The time of this machine.
    Real,
}

/// The clock of one call, in nanoseconds.
pub(crate) enum CallClock {
    Fixed { now: u64 },
    Real { started: Instant },
}

/// How much the fixed clock advances with every look at it.
const TICK: u64 = 1_000;

impl CallClock {
    pub(crate) fn new(clock: WasmClock) -> CallClock {
        match clock {
            WasmClock::Fixed => CallClock::Fixed { now: 0 },
            WasmClock::Real => CallClock::Real {
                started: Instant::now(),
            },
        }
    }

    /// Time since 1970.
    pub(crate) fn wall(&mut self) -> u64 {
        match self {
            CallClock::Fixed { .. } => self.monotonic(),
            CallClock::Real { .. } => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH);
                nanoseconds(since.unwrap_or_default())
            }
        }
    }

    /// Time that never goes back. It is never zero, which Go refuses.
    pub(crate) fn monotonic(&mut self) -> u64 {
        match self {
            CallClock::Fixed { now } => {
                *now = now.saturating_add(TICK);
                *now
            }
            CallClock::Real { started } => nanoseconds(started.elapsed()).saturating_add(1),
        }
    }

    /// Moves the fixed clock on to `time`.
    pub(crate) fn skip_to(&mut self, time: u64) {
        if let CallClock::Fixed { now } = self {
            *now = time.max(*now);
        }
    }

    /// Lets time pass until the monotonic clock shows `until`.
    pub(crate) fn sleep(&mut self, until: u64, interrupt: &Interrupt) -> Result<(), Stop> {
        match self {
            CallClock::Fixed { .. } => self.skip_to(until),
            CallClock::Real { started } => {
                let left = Duration::from_nanos(until).saturating_sub(started.elapsed());
                interrupt.wait(left);
            }
        }
        interrupt.check()
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
