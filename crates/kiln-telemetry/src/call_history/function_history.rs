//! The calls of one function: counts per minute, causes of failures, and the last failures.

use std::collections::VecDeque;
use std::time::Duration;

use super::snapshot::FailedCall;
use super::times::{BUCKETS, TimeCounts, bucket, micros};

/// The minutes that are kept: an hour, and the minute that has begun.
const MINUTES: usize = 61;

/// The number of failed calls that are kept.
const LAST_FAILURES: usize = 10;

/// The longest message that is kept, in bytes.
const MAX_MESSAGE: usize = 8 * 1024;

/// The calls of one function.
#[derive(Default)]
pub(super) struct FunctionHistory {
    /// Empty until the first call.
    minutes: Vec<MinuteCounts>,
    calls: u64,
    failed: Vec<(&'static str, u64)>,
    last_call: Duration,
    last_failures: VecDeque<FailedCall>,
}

/// The calls that ended in one minute.
#[derive(Clone)]
struct MinuteCounts {
    /// Since the start of the program.
    minute: u64,
    times: [u32; BUCKETS],
    max_us: u64,
    failures: u32,
}

/// The calls of some minutes.
#[derive(Clone, Default)]
pub(super) struct MinuteSum {
    pub(super) times: TimeCounts,
    pub(super) failures: u64,
}

/// The totals of a function.
pub(super) struct FunctionTotals {
    pub(super) calls: u64,
    pub(super) failed: Vec<(&'static str, u64)>,
    pub(super) last_call: Duration,
    pub(super) last_failures: Vec<FailedCall>,
}

/// The start of a message.
pub(super) fn cut_message(message: &str) -> &str {
    &message[..message.floor_char_boundary(MAX_MESSAGE)]
}

fn minute(now: Duration) -> u64 {
    now.as_secs() / 60
}

impl FunctionHistory {
    /// Counts a call that took `total`.
    pub(super) fn count(&mut self, now: Duration, total: Duration, failure: Option<FailedCall>) {
        self.calls += 1;
        self.last_call = self.last_call.max(now);
        let is_failure = failure.is_some();
        if let Some(failure) = failure {
            match self
                .failed
                .iter_mut()
                .find(|(class, _)| *class == failure.class)
            {
                Some((_, count)) => *count += 1,
                None => self.failed.push((failure.class, 1)),
            }
            self.last_failures.truncate(LAST_FAILURES - 1);
            self.last_failures.push_front(failure);
        }
        let us = micros(total);
        let counts = self.minute_counts(minute(now));
        if let Some(count) = counts.times.get_mut(bucket(us)) {
            *count = count.saturating_add(1);
        }
        counts.max_us = counts.max_us.max(us);
        counts.failures = counts.failures.saturating_add(u32::from(is_failure));
    }

    /// The counts of a minute; those of an hour ago make room.
    fn minute_counts(&mut self, minute: u64) -> &mut MinuteCounts {
        if self.minutes.is_empty() {
            self.minutes = vec![MinuteCounts::new(0); MINUTES];
        }
        let number = usize::try_from(minute % MINUTES as u64).unwrap_or_default();
        let counts = &mut self.minutes[number];
        // A thread that was delayed may still count in a minute that is over.
        if counts.minute < minute {
            *counts = MinuteCounts::new(minute);
        }
        counts
    }

    /// The calls of the last `minutes` minutes and of the one that has begun.
    pub(super) fn sum(&self, now: Duration, minutes: u64) -> MinuteSum {
        let first = minute(now).saturating_sub(minutes);
        let mut sum = MinuteSum::default();
        for counts in self.minutes.iter().filter(|counts| counts.minute >= first) {
            sum.times.add(&counts.times, counts.max_us);
            sum.failures += u64::from(counts.failures);
        }
        sum
    }

    pub(super) fn totals(&self) -> FunctionTotals {
        FunctionTotals {
            calls: self.calls,
            failed: self.failed.clone(),
            last_call: self.last_call,
            last_failures: self.last_failures.iter().cloned().collect(),
        }
    }
}

impl MinuteCounts {
    fn new(minute: u64) -> MinuteCounts {
        MinuteCounts {
            minute,
            times: [0; BUCKETS],
            max_us: 0,
            failures: 0,
        }
    }
}
