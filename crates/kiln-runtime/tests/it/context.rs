//! Cancellation.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kiln_runtime::{CancelToken, RunError};

#[test]
fn listeners_are_called_once_and_late_ones_at_once() {
    let token = CancelToken::new();
    let calls = Arc::new(AtomicUsize::new(0));
    let listen = |calls: &Arc<AtomicUsize>| {
        let calls = Arc::clone(calls);
        token.on_cancel(move || {
            calls.fetch_add(1, Ordering::SeqCst);
        })
    };
    let _kept = listen(&calls);
    drop(listen(&calls));
    assert!(!token.is_cancelled());
    token.clone().cancel();
    token.cancel();
    assert!(token.is_cancelled());
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    let _late = listen(&calls);
    assert_eq!(calls.load(Ordering::SeqCst), 2);
}

#[test]
fn limits_name_their_flags() {
    let timed_out = |timeout| {
        let stderr = Vec::new();
        RunError::TimedOut { timeout, stderr }.to_string()
    };
    for (milliseconds, expected) in [
        (300_000, "5m0s"),
        (1500, "1.5s"),
        (20, "20ms"),
        (3_723_004, "1h2m3.004s"),
        (60_000, "1m0s"),
    ] {
        let message = timed_out(Duration::from_millis(milliseconds));
        assert!(
            message.contains(&format!(" within {expected} ")),
            "{message}"
        );
        assert!(message.contains("--timeout"), "{message}");
    }
    let message = RunError::OutputTooLarge { limit: 512 }.to_string();
    assert!(message.contains("512 bytes"), "{message}");
    assert!(message.contains("--max-output"), "{message}");
}
