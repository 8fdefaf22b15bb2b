//! The history after calls, with times passed in.

use std::time::Duration;

use kiln_server::{ArrivedCall, Finished, Lane};
use tonic::Code;
use tonic::metadata::MetadataMap;

use super::times::TimeCounts;
use super::{CallHistory, FailureMessages, RECENT_CALLS};
use crate::image_labels::MAX_IMAGES;

fn call(number: u64, image: &str, code: Code) -> Finished<'_> {
    Finished {
        call: number,
        request_id: "r",
        image,
        evaluator: Some("exec"),
        code,
        message: "it failed",
        queue: Duration::from_micros(200),
        execution: Some(Duration::from_millis(2)),
        total: Duration::from_millis(3),
        request_bytes: 100,
        response_bytes: 50,
        exit_code: Some(0),
    }
}

fn history() -> CallHistory {
    CallHistory::new(FailureMessages::Keep)
}

fn minutes(count: u64) -> Duration {
    Duration::from_secs(60 * count)
}

#[test]
fn windows_end_after_their_minutes() {
    let history = history();
    history.finished_at(minutes(0), &call(1, "i", Code::Ok));
    history.finished_at(minutes(4), &call(2, "i", Code::Internal));
    history.finished_at(minutes(5), &call(3, "i", Code::Ok));
    let calls = |now: Duration| -> Vec<(u64, u64, u64)> {
        let snapshot = history.snapshot_at(now);
        assert_eq!(snapshot.functions[0].windows, snapshot.windows);
        let windows = snapshot.windows.iter();
        windows
            .map(|window| (window.minutes, window.calls, window.failures))
            .collect()
    };
    assert_eq!(calls(minutes(5)), [(1, 2, 1), (5, 3, 1), (60, 3, 1)]);
    assert_eq!(calls(minutes(6)), [(1, 1, 0), (5, 2, 1), (60, 3, 1)]);
    assert_eq!(calls(minutes(64)), [(1, 0, 0), (5, 0, 0), (60, 2, 1)]);
    assert_eq!(calls(minutes(500)), [(1, 0, 0), (5, 0, 0), (60, 0, 0)]);
    // The minute of an hour ago made room.
    history.finished_at(minutes(61), &call(4, "i", Code::Ok));
    assert_eq!(calls(minutes(61)), [(1, 1, 0), (5, 1, 0), (60, 3, 1)]);
}

#[test]
fn percentiles_are_close_to_the_times() {
    let mut times = TimeCounts::default();
    let counts = |us: u64| {
        let mut counts = [0; super::times::BUCKETS];
        counts[super::times::bucket(us)] = 1;
        counts
    };
    assert_eq!(times.percentile_us(50), None);
    for number in 1..=100 {
        times.add(&counts(number * 1_000), number * 1_000);
    }
    for (percent, exact) in [(50, 50_000), (95, 95_000), (99, 99_000), (100, 100_000)] {
        let found = times.percentile_us(percent).unwrap();
        let error = found.abs_diff(exact) * 100 / exact;
        assert!(error <= 2, "p{percent}: {found}");
    }
    // Times beyond the last bound are known by the longest.
    let hour = 3_600_000_000;
    let mut times = TimeCounts::default();
    times.add(&counts(hour), hour);
    assert_eq!(times.percentile_us(50), Some(hour));
    assert_eq!(times.max_us(), Some(hour));
}

#[test]
fn times_have_their_bucket() {
    use super::times::{BUCKETS, bound_us, bucket};
    assert_eq!((bucket(0), bucket(100), bucket(101)), (0, 0, 1));
    assert_eq!(bound_us(39), Some(40_000_000));
    assert_eq!((bucket(40_000_000), bucket(40_000_001)), (39, BUCKETS - 1));
    let bounds: Vec<u64> = (0..BUCKETS).filter_map(bound_us).collect();
    assert!(bounds.is_sorted_by(|a, b| a < b), "{bounds:?}");
}

#[test]
fn failures_have_cause_and_message() {
    let history = history();
    for number in 1..=15 {
        let code = match number % 2 {
            0 => Code::Internal,
            _ => Code::DeadlineExceeded,
        };
        history.finished_at(minutes(number), &call(number, "i", code));
    }
    let snapshot = history.snapshot_at(minutes(16));
    let function = &snapshot.functions[0];
    assert_eq!(function.failed, [("deadline", 8), ("function", 7)]);
    assert_eq!((function.calls, function.last_call), (15, minutes(15)));
    let failures: Vec<u64> = function
        .last_failures
        .iter()
        .map(|failure| failure.call)
        .collect();
    assert_eq!(failures, (6..=15).rev().collect::<Vec<u64>>());
    assert_eq!(
        function.last_failures[0].message.as_deref(),
        Some("it failed")
    );
    assert_eq!(function.last_failures[0].code, "DEADLINE_EXCEEDED");
}

#[test]
fn messages_are_cut_or_not_kept() {
    let long = "é".repeat(10_000);
    let failed = Finished {
        message: &long,
        ..call(1, "i", Code::Internal)
    };
    let history = history();
    history.finished(&failed);
    let message = history.snapshot().functions[0].last_failures[0]
        .message
        .clone();
    assert_eq!(message.map(|message| message.len()), Some(8 * 1024));
    let history = CallHistory::new(FailureMessages::Drop);
    history.finished(&failed);
    assert_eq!(
        history.snapshot().functions[0].last_failures[0].message,
        None
    );
    assert!(!history.keeps_messages());
}

#[test]
fn a_call_is_followed_from_its_arrival_to_its_end() {
    let history = history();
    let metadata = MetadataMap::new();
    let begun = |number: u64| ArrivedCall {
        call: number,
        request_id: "r",
        image: "i",
        request_bytes: 100,
        metadata: &metadata,
    };
    history.begun(&begun(2), Some("trace".to_owned()));
    history.begun(&begun(1), None);
    let unfinished = || history.snapshot().unfinished;
    let calls: Vec<u64> = unfinished().iter().map(|open| open.call).collect();
    assert_eq!(calls, [1, 2], "the oldest is first");
    assert_eq!(unfinished()[0].with, None);
    history.queued(1, "exec", Lane::Processes);
    history.waiting(Lane::Processes, 1);
    assert_eq!(unfinished()[0].with, Some(("exec", Lane::Processes)));
    assert!(!unfinished()[0].is_running);
    history.started(1);
    history.waiting(Lane::Processes, -1);
    history.running(Lane::Processes, 1);
    assert!(unfinished()[0].is_running);
    let lane = history.snapshot().lanes[0];
    assert_eq!(
        (lane.lane, lane.running, lane.waiting),
        (Lane::Processes, 1, 0)
    );
    history.finished(&call(2, "i", Code::Ok));
    let snapshot = history.snapshot();
    assert_eq!(snapshot.unfinished.len(), 1);
    assert_eq!(snapshot.recent[0].trace_id.as_deref(), Some("trace"));
    assert_eq!(
        (snapshot.recent[0].code, snapshot.recent[0].class),
        ("OK", None)
    );
}

#[test]
fn everything_is_limited() {
    let history = history();
    let long = "x".repeat(100_000);
    for number in 0..5_000 {
        let image = format!("i{number}");
        history.finished(&call(number, &image, Code::Internal));
    }
    history.finished(&call(5_000, &long, Code::Ok));
    let snapshot = history.snapshot();
    assert_eq!(snapshot.functions.len(), MAX_IMAGES + 1);
    assert_eq!(snapshot.recent.len(), RECENT_CALLS);
    assert_eq!(snapshot.recent[0].image.len(), 256);
    assert_eq!(snapshot.recent[1].call, 4_999, "the newest is first");
    let other = snapshot
        .functions
        .iter()
        .find(|known| &*known.image == "other");
    assert_eq!(other.map(|other| other.calls), Some(4_801));
}
