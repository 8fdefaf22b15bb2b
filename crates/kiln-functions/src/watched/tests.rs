//! Work that finishes, and work that is abandoned.

use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use kiln_runtime::{CancelToken, Deadline, RunContext, RunError};

use super::run;

/// A function that never returns while the test runs.
fn endless() -> impl FnOnce() -> u8 + Send + 'static {
    || {
        loop {
            thread::park();
        }
    }
}

#[test]
fn work_that_finishes_is_returned() {
    let done = run(&RunContext::default(), || 7);
    assert_eq!(done.expect("a number"), 7);
}

#[test]
fn work_that_does_not_look_at_the_clock_is_left_behind_at_the_deadline() {
    let timeout = Duration::from_millis(20);
    let ctx = RunContext {
        deadline: Deadline::after(timeout),
        ..RunContext::default()
    };
    let late = run(&ctx, endless());
    assert!(matches!(late, Err(RunError::TimedOut { timeout: given, .. }) if given == timeout));
}

#[test]
fn work_is_left_behind_when_the_caller_gives_up() {
    let cancel = CancelToken::new();
    let ctx = RunContext {
        cancel: cancel.clone(),
        ..RunContext::default()
    };
    let (started, has_started) = channel();
    let canceller = thread::spawn(move || {
        has_started.recv().expect("the function starts");
        cancel.cancel();
    });
    let endless = endless();
    let given_up = run(&ctx, move || {
        started.send(()).expect("the test waits");
        endless()
    });
    assert!(matches!(given_up, Err(RunError::Cancelled)));
    canceller.join().expect("no panic");
}
