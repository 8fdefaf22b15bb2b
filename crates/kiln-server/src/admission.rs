//! Who may run now, who waits, and who is sent away.
//!
//! Processes, native work on small lists, native work on large ones and calls that are passed on have places of their own,
//! so that none of them waits for another. A place is a guard: whoever drops it, for whatever reason, makes room for the next.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::observer::Observer;
use crate::options::AdmissionOptions;

/// A kind of work with places of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Lane {
    /// Functions in processes, or elsewhere.
    Processes,
    /// Native functions on lists that take no time worth mentioning.
    Small,
    /// Native functions on larger lists.
    Large,
    /// Native functions that take long, on lists of any size.
    Slow,
    /// Functions that others run for us.
    Forwarded,
}

/// Native work on lists of at most so many bytes is small.
const SMALL_LIST: usize = 256 * 1024;

impl Lane {
    /// All there are.
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

    /// As logs and counters call it.
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

/// The places of all lanes.
pub(crate) struct Admission {
    processes: Arc<Places>,
    small: Arc<Places>,
    large: Arc<Places>,
    slow: Arc<Places>,
    forwarded: Arc<Places>,
}

/// There is no room to wait in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Full {
    /// How many are waiting.
    pub(crate) waiting: usize,
    /// When it may be worth trying again.
    pub(crate) retry_after: Duration,
}

struct Places {
    lane: Lane,
    count: NonZeroUsize,
    queue: usize,
    permits: Arc<Semaphore>,
    waiting: AtomicUsize,
    /// How long a call has its place, in microseconds, as far as the last ones tell.
    typical: AtomicU64,
    observer: Arc<dyn Observer>,
}

impl Admission {
    pub(crate) fn new(options: AdmissionOptions, observer: &Arc<dyn Observer>) -> Admission {
        let places = |lane, count: NonZeroUsize| {
            Arc::new(Places {
                lane,
                count,
                queue: options.queue,
                permits: Arc::new(Semaphore::new(count.get().min(Semaphore::MAX_PERMITS))),
                waiting: AtomicUsize::new(0),
                typical: AtomicU64::new(0),
                observer: Arc::clone(observer),
            })
        };
        Admission {
            processes: places(Lane::Processes, options.processes),
            small: places(Lane::Small, options.native),
            large: places(Lane::Large, options.native),
            slow: places(Lane::Slow, options.slow),
            forwarded: places(Lane::Forwarded, options.forwarded),
        }
    }

    /// Waits for a place, unless too many do already. Those who came first get theirs first.
    pub(crate) async fn enter(&self, lane: Lane) -> Result<Place, Full> {
        let places = match lane {
            Lane::Processes => &self.processes,
            Lane::Small => &self.small,
            Lane::Large => &self.large,
            Lane::Slow => &self.slow,
            Lane::Forwarded => &self.forwarded,
        };
        let permits = Arc::clone(&places.permits);
        let permit = match permits.try_acquire_owned() {
            Ok(permit) => Some(permit),
            Err(_) => {
                let _waiting = Waiting::join(places)?;
                // It is never closed; if it were, everybody could run.
                Arc::clone(&places.permits).acquire_owned().await.ok()
            }
        };
        Ok(Place::new(Arc::clone(places), permit))
    }
}

/// Somebody who waits, until dropped.
struct Waiting<'a> {
    places: &'a Places,
}

impl Waiting<'_> {
    fn join(places: &Places) -> Result<Waiting<'_>, Full> {
        let before = places.waiting.fetch_add(1, Ordering::Relaxed);
        places.observer.waiting(places.lane, 1);
        let waiting = Waiting { places };
        if before >= places.queue {
            return Err(Full {
                waiting: before,
                retry_after: places.retry_after(before),
            });
        }
        Ok(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.places.waiting.fetch_sub(1, Ordering::Relaxed);
        self.places.observer.waiting(self.places.lane, -1);
    }
}

impl Places {
    /// How long it takes, by what the last calls took, until those who wait now have run.
    fn retry_after(&self, waiting: usize) -> Duration {
        let typical = Duration::from_micros(self.typical.load(Ordering::Relaxed));
        let rounds = u32::try_from(waiting / self.count.get() + 1).unwrap_or(u32::MAX);
        let expected = typical.saturating_mul(rounds);
        expected.clamp(Duration::from_millis(100), Duration::from_secs(30))
    }
}

/// The right to run, until dropped.
pub(crate) struct Place {
    places: Arc<Places>,
    since: Instant,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Place {
    fn new(places: Arc<Places>, permit: Option<OwnedSemaphorePermit>) -> Place {
        places.observer.running(places.lane, 1);
        Place {
            places,
            since: Instant::now(),
            _permit: permit,
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let places = &self.places;
        let took = u64::try_from(self.since.elapsed().as_micros()).unwrap_or(u64::MAX);
        let typical = places.typical.load(Ordering::Relaxed);
        // A mean in which the last few calls count most. That two threads may overwrite each other does no harm.
        let mean = if typical == 0 {
            took
        } else {
            typical - typical / 8 + took / 8
        };
        places.typical.store(mean, Ordering::Relaxed);
        places.observer.running(places.lane, -1);
    }
}

#[cfg(test)]
mod tests;
