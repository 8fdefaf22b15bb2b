//! Counts of times in buckets, and percentiles of them.

use std::time::Duration;

/// The number of buckets with an upper bound; one more is for all longer times.
const BOUNDS: usize = 40;

/// A bucket for each bound, and the last one.
pub(super) const BUCKETS: usize = BOUNDS + 1;

/// Upper bounds in microseconds: seven for each factor of ten, from 100 µs (a native function) to 40 s.
const UP_TO: [u64; BOUNDS] = up_to();

const fn up_to() -> [u64; BOUNDS] {
    const STEPS: [u64; 7] = [100, 150, 200, 300, 400, 500, 700];
    let mut bounds = [0; BOUNDS];
    let mut number = 0;
    let mut factor = 1;
    while number < BOUNDS {
        bounds[number] = STEPS[number % STEPS.len()] * factor;
        number += 1;
        if number % STEPS.len() == 0 {
            factor *= 10;
        }
    }
    bounds
}

/// How many times are in each bucket.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct TimeCounts {
    counts: [u64; BUCKETS],
    max_us: u64,
}

impl Default for TimeCounts {
    fn default() -> TimeCounts {
        TimeCounts {
            counts: [0; BUCKETS],
            max_us: 0,
        }
    }
}

/// The upper bound of a bucket; `None` for the last one.
pub(super) fn bound_us(bucket: usize) -> Option<u64> {
    UP_TO.get(bucket).copied()
}

/// The bucket of a time.
pub(super) fn bucket(us: u64) -> usize {
    UP_TO.partition_point(|bound| *bound < us)
}

pub(super) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

impl TimeCounts {
    /// Adds the counts of buckets, and their longest time.
    pub(super) fn add(&mut self, counts: &[u32; BUCKETS], max_us: u64) {
        for (sum, count) in self.counts.iter_mut().zip(counts) {
            *sum += u64::from(*count);
        }
        self.max_us = self.max_us.max(max_us);
    }

    pub(super) fn merge(&mut self, other: &TimeCounts) {
        for (sum, count) in self.counts.iter_mut().zip(other.counts) {
            *sum += count;
        }
        self.max_us = self.max_us.max(other.max_us);
    }

    pub(super) fn counts(&self) -> &[u64; BUCKETS] {
        &self.counts
    }

    pub(super) fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The longest time; `None` without any.
    pub(super) fn max_us(&self) -> Option<u64> {
        (self.total() > 0).then_some(self.max_us)
    }

    /// The time that `percent` percent of all times do not exceed, interpolated in its bucket.
    pub(super) fn percentile_us(&self, percent: u64) -> Option<u64> {
        let rank = (self.total() * percent).div_ceil(100);
        if rank == 0 {
            return None;
        }
        let mut before = 0;
        for (number, count) in self.counts.iter().enumerate() {
            if before + count < rank {
                before += count;
                continue;
            }
            let from = number.checked_sub(1).and_then(bound_us).unwrap_or(0);
            let to = bound_us(number).unwrap_or(self.max_us).min(self.max_us);
            let width = to.saturating_sub(from);
            return Some((from + width * (rank - before) / count.max(&1)).min(self.max_us));
        }
        None
    }
}
