//! A copy of the history at one moment.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use kiln_server::Lane;

use super::function_history::{FunctionHistory, MinuteSum};
use super::times::{TimeCounts, bound_us};
use super::{CallHistory, FunctionKey, lock};

/// The lengths of the windows, in minutes.
const WINDOWS: [u64; 3] = [1, 5, 60];

/// Whether messages of failed calls are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailureMessages {
    /// They may contain parts of lists.
    Keep,
    Drop,
}

/// The history at one moment.
#[derive(Clone, Debug)]
pub struct HistorySnapshot {
    /// When the program started.
    pub began_at: SystemTime,
    /// Since then. All other times are measured from the same start.
    pub now: Duration,
    pub lanes: Vec<LaneLoad>,
    /// All calls.
    pub windows: Vec<CallWindow>,
    pub functions: Vec<FunctionCalls>,
    /// The oldest first.
    pub unfinished: Vec<UnfinishedCall>,
    /// The newest first.
    pub recent: Vec<EndedCall>,
}

/// How many calls run and wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaneLoad {
    pub lane: Lane,
    pub running: u64,
    pub waiting: u64,
}

/// The calls of the last minutes and of the minute that has begun.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallWindow {
    pub minutes: u64,
    pub calls: u64,
    pub failures: u64,
    /// Total times of calls; `None` without calls.
    pub p50_us: Option<u64>,
    pub p95_us: Option<u64>,
    pub p99_us: Option<u64>,
    pub max_us: Option<u64>,
}

/// The calls of one image with one evaluator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionCalls {
    pub image: Arc<str>,
    pub evaluator: &'static str,
    pub windows: Vec<CallWindow>,
    /// The times of the longest window, from the first bucket with calls to the last.
    pub buckets: Vec<TimeBucket>,
    /// Since the start of the program.
    pub calls: u64,
    /// The failed ones by cause.
    pub failed: Vec<(&'static str, u64)>,
    pub last_call: Duration,
    /// The newest first.
    pub last_failures: Vec<FailedCall>,
}

/// How many calls took up to a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeBucket {
    /// `None` for the last bucket.
    pub up_to_us: Option<u64>,
    pub calls: u64,
}

/// A call that failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FailedCall {
    pub call: u64,
    pub ended: Duration,
    pub code: &'static str,
    pub class: &'static str,
    pub exit_code: Option<i32>,
    pub message: Option<Arc<str>>,
}

/// A call that has not ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnfinishedCall {
    pub call: u64,
    pub request_id: Box<str>,
    pub trace_id: Option<Box<str>>,
    pub image: Arc<str>,
    pub request_bytes: usize,
    pub arrived: Duration,
    /// The evaluator that has it, and what it needs a slot of.
    pub with: Option<(&'static str, Lane)>,
    pub is_running: bool,
    /// When it began to wait, or got its slot.
    pub since: Duration,
}

/// A call that has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EndedCall {
    pub call: u64,
    pub request_id: Box<str>,
    pub trace_id: Option<Box<str>>,
    pub image: Arc<str>,
    pub evaluator: Option<&'static str>,
    pub ended: Duration,
    pub code: &'static str,
    /// The cause of a failure.
    pub class: Option<&'static str>,
    pub exit_code: Option<i32>,
    pub queue: Duration,
    pub execution: Option<Duration>,
    pub total: Duration,
    pub request_bytes: usize,
    pub response_bytes: usize,
}

impl CallHistory {
    /// Copies the history.
    pub fn snapshot(&self) -> HistorySnapshot {
        self.snapshot_at(self.began.elapsed())
    }

    pub(super) fn snapshot_at(&self, now: Duration) -> HistorySnapshot {
        let functions = self.functions.read();
        let functions = functions.unwrap_or_else(PoisonError::into_inner);
        let known: Vec<(FunctionKey, Arc<Mutex<FunctionHistory>>)> = functions
            .iter()
            .map(|(key, history)| (key.clone(), Arc::clone(history)))
            .collect();
        drop(functions);
        let mut sums = WINDOWS.map(|_| MinuteSum::default());
        let functions = known.into_iter().map(|(key, history)| {
            let (of_function, totals) = {
                let history = lock(&history);
                (
                    WINDOWS.map(|minutes| history.sum(now, minutes)),
                    history.totals(),
                )
            };
            for (sum, of_function) in sums.iter_mut().zip(&of_function) {
                sum.times.merge(&of_function.times);
                sum.failures += of_function.failures;
            }
            let (image, evaluator) = key;
            FunctionCalls {
                image,
                evaluator,
                windows: windows(&of_function),
                buckets: of_function
                    .last()
                    .map_or(Vec::new(), |sum| buckets(&sum.times)),
                calls: totals.calls,
                failed: totals.failed,
                last_call: totals.last_call,
                last_failures: totals.last_failures,
            }
        });
        let functions: Vec<FunctionCalls> = functions.collect();
        let recent = lock(&self.recent).iter().rev().cloned().collect();
        HistorySnapshot {
            began_at: self.began_at,
            now,
            lanes: self.lane_loads(),
            windows: windows(&sums),
            functions,
            unfinished: self.unfinished(),
            recent,
        }
    }

    fn lane_loads(&self) -> Vec<LaneLoad> {
        let lanes = Lane::ALL.into_iter().zip(&self.lanes);
        // Changes are reported in any order, so a sum may be negative for a moment.
        let count = |count: &std::sync::atomic::AtomicI64| {
            u64::try_from(count.load(Ordering::Relaxed)).unwrap_or(0)
        };
        lanes
            .map(|(lane, counts)| LaneLoad {
                lane,
                running: count(&counts.running),
                waiting: count(&counts.waiting),
            })
            .collect()
    }

    fn unfinished(&self) -> Vec<UnfinishedCall> {
        let mut calls = Vec::new();
        for shard in &self.unfinished {
            calls.extend(lock(shard).values().cloned());
        }
        calls.sort_by_key(|open| open.call);
        calls
    }
}

fn windows(sums: &[MinuteSum; WINDOWS.len()]) -> Vec<CallWindow> {
    let windows = WINDOWS.into_iter().zip(sums);
    windows
        .map(|(minutes, sum)| CallWindow {
            minutes,
            calls: sum.times.total(),
            failures: sum.failures,
            p50_us: sum.times.percentile_us(50),
            p95_us: sum.times.percentile_us(95),
            p99_us: sum.times.percentile_us(99),
            max_us: sum.times.max_us(),
        })
        .collect()
}

fn buckets(times: &TimeCounts) -> Vec<TimeBucket> {
    let buckets = times.counts().iter().enumerate();
    let mut buckets: Vec<TimeBucket> = buckets
        .map(|(number, calls)| TimeBucket {
            up_to_us: bound_us(number),
            calls: *calls,
        })
        .skip_while(|bucket| bucket.calls == 0)
        .collect();
    while buckets.last().is_some_and(|bucket| bucket.calls == 0) {
        buckets.pop();
    }
    buckets
}
