//! Counts the usage of a run against its [`Limits`].
//!
//! All work and memory is charged here before it is done: instructions, conversions, comparisons, hashes, text. Every
//! few thousand steps the caller's interrupt is called, so that a run stops soon after its caller requests it. Once a
//! limit is exceeded or the caller has stopped the run, every further charge fails, so a function that drops a
//! failure cannot continue.
//!
//! Bytes are charged when they are allocated and not credited when they are freed. When many have been charged, the
//! machine counts the values that can still be reached ([`Usage::set_live`]), so that only the memory in use at a
//! time is limited.

use std::cell::{Cell, RefCell};

use crate::error::{Failure, fail};
use crate::limits::Limits;

/// The counters of a run. The host creates them and may charge its own work for the run.
pub struct Usage<'a> {
    max_steps: u64,
    max_bytes: Cell<u64>,
    interrupt: &'a dyn Fn() -> Option<String>,
    steps: Cell<u64>,
    /// The step at which the limits are checked and the interrupt is called.
    next_check: Cell<u64>,
    /// The same for the machine, which also stops to count live values.
    next_pause: Cell<u64>,
    /// Bytes of values: those reachable at the last count, and all allocated since.
    bytes: Cell<u64>,
    /// At how many bytes of values to count again.
    next_census: Cell<u64>,
    /// Bytes that are not freed before the end of the run.
    kept: Cell<u64>,
    stopped: Cell<StopReason>,
    /// The result of the interrupt.
    reason: RefCell<String>,
}

/// Whether and why the run is to stop.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StopReason {
    No,
    Steps,
    Bytes,
    Interrupt,
}

/// The number of steps between two checks of the limits.
const CHECK_INTERVAL: u64 = 1 << 12;

/// How many bytes a function can copy, search or compare in about the time of one instruction.
const BYTES_PER_STEP: usize = 64;

impl<'a> Usage<'a> {
    /// Counters at zero. `interrupt` is called from time to time; it returns a reason if the run must stop.
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
            stopped: Cell::new(StopReason::No),
            reason: RefCell::default(),
        }
    }

    /// Counters without limits, for work on values of the host itself.
    pub fn unlimited() -> Usage<'static> {
        let limits = Limits {
            steps: u64::MAX,
            bytes: u64::MAX,
        };
        Usage::new(&limits, &|| None)
    }

    pub fn charge(&self, steps: usize) -> Result<(), Failure> {
        let total = self.steps.get().saturating_add(steps as u64);
        self.steps.set(total);
        if total < self.next_check.get() {
            return Ok(());
        }
        self.check()
    }

    /// Charges the time to copy, search or compare that many bytes.
    pub fn charge_bytes(&self, bytes: usize) -> Result<(), Failure> {
        self.charge(bytes / BYTES_PER_STEP)
    }

    /// Charges memory that is about to be allocated for values, and the time to fill it.
    pub fn allocate(&self, bytes: usize) -> Result<(), Failure> {
        let total = self.bytes.get().saturating_add(bytes as u64);
        self.bytes.set(total);
        self.check_bytes()?;
        if total > self.next_census.get() {
            self.next_pause.set(0);
        }
        self.charge_bytes(bytes)
    }

    /// Charges memory that stays allocated until the run ends, and the time to fill it.
    pub fn keep(&self, bytes: usize) -> Result<(), Failure> {
        self.kept.set(self.kept.get().saturating_add(bytes as u64));
        self.check_bytes()?;
        self.charge_bytes(bytes)
    }

    /// Fails if that many more bytes would exceed the limit; charges nothing.
    pub fn check_room(&self, bytes: usize) -> Result<(), Failure> {
        match self.has_room(bytes as u64) {
            true => Ok(()),
            false => self.stop(StopReason::Bytes),
        }
    }

    /// Raises the limit on bytes, for the input of the run.
    pub fn allow(&self, bytes: usize) {
        let max_bytes = self.max_bytes.get().saturating_add(bytes as u64);
        self.max_bytes.set(max_bytes);
        self.plan_census();
    }

    /// Charges a step of the machine. Returns whether to check the limits, and perhaps to count live values.
    pub(crate) fn step(&self) -> bool {
        let total = self.steps.get().wrapping_add(1);
        self.steps.set(total);
        total >= self.next_pause.get()
    }

    /// Resumes after a pause of the machine.
    pub(crate) fn resume(&self) {
        self.next_pause.set(self.next_check.get());
    }

    /// Checks the limits and calls the interrupt.
    #[cold]
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.stopped.get() != StopReason::No {
            return self.stop(self.stopped.get());
        }
        if self.steps.get() >= self.max_steps {
            return self.stop(StopReason::Steps);
        }
        self.check_bytes()?;
        if let Some(reason) = (self.interrupt)() {
            self.reason.replace(reason);
            return self.stop(StopReason::Interrupt);
        }
        let next_check = self.steps.get().saturating_add(CHECK_INTERVAL);
        self.next_check.set(next_check.min(self.max_steps));
        if !self.is_census_due() {
            self.resume();
        }
        Ok(())
    }

    /// Whether every further charge fails.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.get() != StopReason::No
    }

    /// Whether so many bytes have been charged that a count of the live ones is worthwhile.
    pub(crate) fn is_census_due(&self) -> bool {
        self.bytes.get() > self.next_census.get()
    }

    /// Sets the bytes of the reachable values.
    pub(crate) fn set_live(&self, bytes: u64) {
        self.bytes.set(bytes);
        self.plan_census();
    }

    /// A count takes time proportional to the live values, so there is always some room until the next.
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
            false => self.stop(StopReason::Bytes),
        }
    }

    #[cold]
    fn stop<T>(&self, reason: StopReason) -> Result<T, Failure> {
        self.stopped.set(reason);
        self.next_check.set(0);
        self.next_pause.set(0);
        match reason {
            StopReason::Steps => fail("Starlark computation cancelled: too many steps"),
            StopReason::Bytes => {
                let megabytes = self.max_bytes.get() / 1_000_000;
                fail(format!(
                    "starlark: the script needs more than {megabytes} MB of memory"
                ))
            }
            StopReason::Interrupt | StopReason::No => {
                let reason = self.reason.borrow();
                fail(format!("Starlark computation cancelled: {reason}"))
            }
        }
    }
}
