//! Which calls run now, which wait, and which are refused.
//!
//! Processes, native work on small lists, native work on large ones and calls that are passed on have slots of their own,
//! so that none of them waits for another. A slot is a guard: dropping it, for whatever reason, starts the next call.

mod fair_queue;

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

pub(crate) use self::fair_queue::Caller;
use self::fair_queue::{FairQueue, Ticket};
use crate::observer::Observer;
use crate::options::AdmissionOptions;

/// A kind of work with slots of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Lane {
    /// Functions in processes.
    Processes,
    /// Native functions on lists that take no time worth mentioning.
    Small,
    /// Native functions on larger lists.
    Large,
    /// Native functions that take long, on lists of any size.
    Slow,
    /// Functions that pods or other runners evaluate.
    Forwarded,
}

/// Native work on lists of at most so many bytes is small.
const SMALL_LIST: usize = 256 * 1024;

impl Lane {
    /// Every lane, in the order of metrics.
    pub const ALL: [Lane; 5] = [
        Lane::Processes,
        Lane::Small,
        Lane::Large,
        Lane::Slow,
        Lane::Forwarded,
    ];

    /// The lane of a call that is run here.
    pub(crate) fn of(is_native: bool, list: usize) -> Lane {
        match (is_native, list) {
            (false, _) => Lane::Processes,
            (true, ..=SMALL_LIST) => Lane::Small,
            (true, _) => Lane::Large,
        }
    }

    /// Its name in logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Lane::Processes => "processes",
            Lane::Small => "native-small",
            Lane::Large => "native-large",
            Lane::Slow => "native-slow",
            Lane::Forwarded => "forwarded",
        }
    }
}

/// The slots of all lanes.
pub(crate) struct Admission {
    processes: Arc<Slots>,
    small: Arc<Slots>,
    large: Arc<Slots>,
    slow: Arc<Slots>,
    forwarded: Arc<Slots>,
}

/// The queue is full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Full {
    /// How many calls are waiting.
    pub(crate) waiting: usize,
    /// When it may be worth trying again.
    pub(crate) retry_after: Duration,
}

struct Slots {
    lane: Lane,
    count: NonZeroUsize,
    max_queue: usize,
    state: Mutex<SlotState>,
    /// How long a call keeps its slot, in microseconds, by the last calls.
    typical: AtomicU64,
    observer: Arc<dyn Observer>,
}

struct SlotState {
    /// Calls wait only while this is 0.
    free: usize,
    queue: FairQueue<oneshot::Sender<Result<Slot, Full>>>,
}

impl Admission {
    pub(crate) fn new(options: AdmissionOptions, observer: &Arc<dyn Observer>) -> Admission {
        let slots = |lane, count: NonZeroUsize| {
            Arc::new(Slots {
                lane,
                count,
                max_queue: options.queue,
                state: Mutex::new(SlotState {
                    free: count.get(),
                    queue: FairQueue::new(),
                }),
                typical: AtomicU64::new(0),
                observer: Arc::clone(observer),
            })
        };
        Admission {
            processes: slots(Lane::Processes, options.processes),
            small: slots(Lane::Small, options.native),
            large: slots(Lane::Large, options.native),
            slow: slots(Lane::Slow, options.slow),
            forwarded: slots(Lane::Forwarded, options.forwarded),
        }
    }

    /// Waits for a slot. Fails if the queue is full, or if it becomes full and another client has fewer calls in it.
    pub(crate) async fn enter(&self, lane: Lane, caller: Caller) -> Result<Slot, Full> {
        let slots = match lane {
            Lane::Processes => &self.processes,
            Lane::Small => &self.small,
            Lane::Large => &self.large,
            Lane::Slow => &self.slow,
            Lane::Forwarded => &self.forwarded,
        };
        slots.enter(caller, slots.max_queue).await
    }

    /// Whether a slow call goes on at once: in a slot of the slow lane that is free, or in its own if no call waits for it.
    pub(crate) fn goes_on(&self, slot: &mut Option<Slot>) -> bool {
        if let Some(slot) = slot.as_ref().filter(|slot| slot.slots.lane == Lane::Slow) {
            return slot.slots.lock().queue.len() == 0;
        }
        let is_free = self.slow.lock().take_free();
        if is_free {
            *slot = Some(Slot::new(&self.slow));
        }
        is_free
    }

    /// Gives up the slot of a slow call and waits for its next turn. Fails as [`Admission::enter`], but the queue always has
    /// room for a call that had a turn before.
    pub(crate) async fn next_turn(&self, slot: Option<Slot>, caller: Caller) -> Result<Slot, Full> {
        let had_turn = slot.is_some_and(|slot| slot.slots.lane == Lane::Slow);
        let max_queue = match had_turn {
            true => usize::MAX,
            false => self.slow.max_queue,
        };
        self.slow.enter(caller, max_queue).await
    }
}

impl Slots {
    async fn enter(self: &Arc<Slots>, caller: Caller, max_queue: usize) -> Result<Slot, Full> {
        let (ticket, receiver, given_up) = {
            let mut state = self.lock();
            if state.take_free() {
                drop(state);
                return Ok(Slot::new(self));
            }
            let waiting = state.queue.len();
            let given_up = match waiting < max_queue {
                true => None,
                false => match state.queue.make_room_for(caller) {
                    Some(given_up) => Some((given_up, self.full(waiting))),
                    None => return Err(self.full(waiting)),
                },
            };
            let (sender, receiver) = oneshot::channel();
            (state.queue.push(caller, sender), receiver, given_up)
        };
        if let Some((given_up, full)) = given_up {
            // A call that went away meanwhile needs no answer.
            let _ = given_up.send(Err(full));
        }
        let _waiting = Waiting::new(self, caller, ticket);
        match receiver.await {
            Ok(entered) => entered,
            // Every sender in the queue is used before it is dropped.
            Err(_) => Err(self.full(0)),
        }
    }

    /// Gives a slot that is free again to the next call.
    fn release(self: &Arc<Slots>) {
        let next = {
            let mut state = self.lock();
            let next = state.queue.pop();
            if next.is_none() {
                state.free += 1;
            }
            next
        };
        if let Some(next) = next {
            // A call that went away meanwhile drops the slot, which releases it again.
            let _ = next.send(Ok(Slot::new(self)));
        }
    }

    /// The refusal, which names the time that the last calls took for as many as wait now.
    fn full(&self, waiting: usize) -> Full {
        let typical = Duration::from_micros(self.typical.load(Ordering::Relaxed));
        let rounds = u32::try_from(waiting / self.count.get() + 1).unwrap_or(u32::MAX);
        let expected = typical.saturating_mul(rounds);
        Full {
            waiting,
            retry_after: expected.clamp(Duration::from_millis(100), Duration::from_secs(30)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, SlotState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SlotState {
    fn take_free(&mut self) -> bool {
        let is_free = self.free > 0;
        self.free -= usize::from(is_free);
        is_free
    }
}

/// A call in the queue. Dropping it takes the call out.
struct Waiting<'a> {
    slots: &'a Slots,
    caller: Caller,
    ticket: Ticket,
}

impl Waiting<'_> {
    fn new(slots: &Slots, caller: Caller, ticket: Ticket) -> Waiting<'_> {
        slots.observer.waiting(slots.lane, 1);
        Waiting {
            slots,
            caller,
            ticket,
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let removed = self.slots.lock().queue.remove(self.caller, self.ticket);
        drop(removed);
        self.slots.observer.waiting(self.slots.lane, -1);
    }
}

/// The right to run, until dropped.
pub(crate) struct Slot {
    slots: Arc<Slots>,
    since: Instant,
}

impl Slot {
    fn new(slots: &Arc<Slots>) -> Slot {
        slots.observer.running(slots.lane, 1);
        Slot {
            slots: Arc::clone(slots),
            since: Instant::now(),
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let slots = &self.slots;
        let took = u64::try_from(self.since.elapsed().as_micros()).unwrap_or(u64::MAX);
        let typical = slots.typical.load(Ordering::Relaxed);
        // A mean in which the last few calls count most. That two threads may overwrite each other does no harm.
        let mean = if typical == 0 {
            took
        } else {
            typical - typical / 8 + took / 8
        };
        slots.typical.store(mean, Ordering::Relaxed);
        slots.observer.running(slots.lane, -1);
        slots.release();
    }
}

#[cfg(test)]
mod tests;
