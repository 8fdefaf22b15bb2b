//! What a run uses, counted against its [`Limits`].
//!
//! Everything that takes time or memory counts it here before it does it: instructions, conversions, comparisons,
//! hashes, text that is built. Every few thousand steps the caller's interrupt is called, so that a run stops soon after
//! its caller wants it to. Once a limit is exceeded or the caller has stopped the run, every further count fails, so a
//! function that drops a failure cannot go on.
//!
//! Bytes are counted when they are allocated and not when they are freed. When many have come together, the machine
//! counts the values that can still be reached ([`Usage::set_live`]), so that only what is needed at a time has to fit.

use std::cell::{Cell, RefCell};

use crate::error::{Failure, fail};
use crate::limits::Limits;

/// The counters of a run. The host makes one and may count its own work for the run with it.
pub struct Usage<'a> {
    max_steps: u64,
    max_bytes: Cell<u64>,
    interrupt: &'a dyn Fn() -> Option<String>,
    steps: Cell<u64>,
    /// At which step to look at the limits and to call the interrupt.
    next_check: Cell<u64>,
    /// The same for the machine, which also stops when it is to count what is live.
    next_pause: Cell<u64>,
    /// Bytes of values: those that could be reached when they were last counted, and all that came since.
    bytes: Cell<u64>,
    /// At how many bytes of values to count again.
    next_census: Cell<u64>,
    /// Bytes that do not come back before the end of the run.
    kept: Cell<u64>,
    stopped: Cell<Stopped>,
    /// What the interrupt has returned.
    reason: RefCell<String>,
}

/// Whether and why the run is to stop.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stopped {
    No,
    Steps,
    Bytes,
    Interrupt,
}

/// How many steps are taken between two looks at the limits.
const CHECK_INTERVAL: u64 = 1 << 12;

/// How many bytes a function can copy, search or compare in about the time of one instruction.
const BYTES_PER_STEP: usize = 64;

impl<'a> Usage<'a> {
    /// Counters at zero. `interrupt` is called now and then; it returns why to stop, if the run is to stop.
    pub fn new(limits: &Limits, interrupt: &'a dyn Fn() -> Option<String>) -> Usage<'a> {
        Usage {
            max_steps: limits.steps,
            max_bytes: Cell::new(limits.bytes),
            interrupt,
            steps: Cell::new(0),
            next_check: Cell::new(CHECK_INTERVAL.min(limits.steps)),
            next_pause: Cell::new(CHECK_INTERVAL.min(limits.steps)),
            bytes: Cell::new(0),
            next_census: Cell::new(limits.bytes / 2),
            kept: Cell::new(0),
            stopped: Cell::new(Stopped::No),
            reason: RefCell::default(),
        }
    }

    /// Counters without limits, for work on values that the host itself has made.
    pub fn unlimited() -> Usage<'static> {
        let limits = Limits {
            steps: u64::MAX,
            bytes: u64::MAX,
        };
        Usage::new(&limits, &|| None)
    }

    /// Counts steps.
    pub fn charge(&self, steps: usize) -> Result<(), Failure> {
        let total = self.steps.get().saturating_add(steps as u64);
        self.steps.set(total);
        if total < self.next_check.get() {
            return Ok(());
        }
        self.check()
    }

    /// Counts the time to copy, search or compare so many bytes.
    pub fn charge_bytes(&self, bytes: usize) -> Result<(), Failure> {
        self.charge(bytes / BYTES_PER_STEP)
    }

    /// Counts memory that is about to be allocated for values, and the time to fill it.
    pub fn allocate(&self, bytes: usize) -> Result<(), Failure> {
        let total = self.bytes.get().saturating_add(bytes as u64);
        self.bytes.set(total);
        self.check_bytes()?;
        if total > self.next_census.get() {
            self.next_pause.set(0);
        }
        self.charge_bytes(bytes)
    }

    /// Counts memory that stays allocated until the run ends, and the time to fill it.
    pub fn keep(&self, bytes: usize) -> Result<(), Failure> {
        self.kept.set(self.kept.get().saturating_add(bytes as u64));
        self.check_bytes()?;
        self.charge_bytes(bytes)
    }

    /// Fails if so many more bytes would be too many; counts nothing.
    pub fn check_room(&self, bytes: usize) -> Result<(), Failure> {
        match self.has_room(bytes as u64) {
            true => Ok(()),
            false => self.stop(Stopped::Bytes),
        }
    }

    /// Raises the limit on bytes, for what the run was given rather than what it makes.
    pub fn allow(&self, bytes: usize) {
        let max_bytes = self.max_bytes.get().saturating_add(bytes as u64);
        self.max_bytes.set(max_bytes);
        self.plan_census();
    }

    /// Counts a step of the machine. Returns whether to look at the limits, and perhaps to count what is live.
    pub(crate) fn step(&self) -> bool {
        let total = self.steps.get().wrapping_add(1);
        self.steps.set(total);
        total >= self.next_pause.get()
    }

    /// Goes on after a pause of the machine.
    pub(crate) fn resume(&self) {
        self.next_pause.set(self.next_check.get());
    }

    /// Looks at the limits and calls the interrupt.
    #[cold]
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.stopped.get() != Stopped::No {
            return self.stop(self.stopped.get());
        }
        if self.steps.get() >= self.max_steps {
            return self.stop(Stopped::Steps);
        }
        self.check_bytes()?;
        if let Some(reason) = (self.interrupt)() {
            self.reason.replace(reason);
            return self.stop(Stopped::Interrupt);
        }
        let next_check = self.steps.get().saturating_add(CHECK_INTERVAL);
        self.next_check.set(next_check.min(self.max_steps));
        if !self.is_census_due() {
            self.resume();
        }
        Ok(())
    }

    /// Whether every further count fails.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.get() != Stopped::No
    }

    /// Whether so many bytes have come together that it is worth counting which of them are still needed.
    pub(crate) fn is_census_due(&self) -> bool {
        self.bytes.get() > self.next_census.get()
    }

    /// Takes over how many bytes the values need that can be reached.
    pub(crate) fn set_live(&self, bytes: u64) {
        self.bytes.set(bytes);
        self.plan_census();
    }

    /// A census takes time in proportion to what is live, so there is always some room until the next.
    fn plan_census(&self) {
        let max_bytes = self.max_bytes.get();
        let used = self.bytes.get().saturating_add(self.kept.get());
        let room = (max_bytes.saturating_sub(used) / 2).max(max_bytes / 32);
        self.next_census.set(self.bytes.get().saturating_add(room));
    }

    fn has_room(&self, bytes: u64) -> bool {
        let used = self.bytes.get().saturating_add(self.kept.get());
        used.saturating_add(bytes) <= self.max_bytes.get()
    }

    fn check_bytes(&self) -> Result<(), Failure> {
        match self.has_room(0) {
            true => Ok(()),
            false => self.stop(Stopped::Bytes),
        }
    }

    #[cold]
    fn stop<T>(&self, reason: Stopped) -> Result<T, Failure> {
        self.stopped.set(reason);
        self.next_check.set(0);
        self.next_pause.set(0);
        match reason {
            Stopped::Steps => fail("Starlark computation cancelled: too many steps"),
            Stopped::Bytes => {
                let megabytes = self.max_bytes.get() / 1_000_000;
                fail(format!(
                    "starlark: the script needs more than {megabytes} MB of memory"
                ))
            }
            Stopped::Interrupt | Stopped::No => {
                let reason = self.reason.borrow();
                fail(format!("Starlark computation cancelled: {reason}"))
            }
        }
    }
}
