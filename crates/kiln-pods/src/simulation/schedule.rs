//! What happens next in virtual time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::pool::Moment;

/// Things that will happen, in the order of time, and of their registration if at the same time.
pub(super) struct Schedule<T> {
    queue: BinaryHeap<Scheduled<T>>,
    count: u64,
}

struct Scheduled<T> {
    key: Reverse<(Moment, u64)>,
    what: T,
}

impl<T> Schedule<T> {
    pub(super) fn new() -> Schedule<T> {
        Schedule {
            queue: BinaryHeap::new(),
            count: 0,
        }
    }

    pub(super) fn at(&mut self, moment: Moment, what: T) {
        self.count += 1;
        let key = Reverse((moment, self.count));
        self.queue.push(Scheduled { key, what });
    }

    pub(super) fn next(&mut self) -> Option<(Moment, T)> {
        let entry = self.queue.pop()?;
        let Reverse((moment, _)) = entry.key;
        Some((moment, entry.what))
    }
}

impl<T> PartialEq for Scheduled<T> {
    fn eq(&self, other: &Scheduled<T>) -> bool {
        self.key == other.key
    }
}

impl<T> Eq for Scheduled<T> {}

impl<T> PartialOrd for Scheduled<T> {
    fn partial_cmp(&self, other: &Scheduled<T>) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Scheduled<T> {
    fn cmp(&self, other: &Scheduled<T>) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}
