//! Runs native work on a thread that can be abandoned.
//!
//! A thread cannot be killed. In the command line it need not be: at the deadline or on cancellation the command ends
//! with an error, nothing has been written by then, and the thread ends with the process. Services run native
//! functions in worker processes instead, which can be killed.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Instant;

use kiln_runtime::{RunContext, RunError};

/// The stack of a function. Recursive functions have a depth limit, which is chosen for this size.
const STACK: usize = 16 << 20;

enum Ended<T> {
    Finished(T),
    Cancelled,
}

/// Runs `work` and waits for it until the deadline or cancellation.
pub(crate) fn run<T: Send + 'static>(
    ctx: &RunContext,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, RunError> {
    let (sender, receiver) = channel();
    let cancelled = sender.clone();
    let _guard = ctx.cancel.on_cancel(move || {
        let _ = cancelled.send(Ended::Cancelled);
    });
    let thread = thread::Builder::new()
        .name("function".to_owned())
        .stack_size(STACK);
    let started = thread.spawn(move || {
        // The receiver has gone away if the deadline came first.
        let _ = sender.send(Ended::Finished(work()));
    });
    started.map_err(|source| RunError::Io {
        doing: "cannot start a thread for the function",
        source,
    })?;
    let ended = match ctx.deadline {
        None => receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
        Some(deadline) => {
            receiver.recv_timeout(deadline.at.saturating_duration_since(Instant::now()))
        }
    };
    match (ended, ctx.deadline) {
        (Ok(Ended::Finished(finished)), _) => Ok(finished),
        (Err(RecvTimeoutError::Timeout), Some(deadline)) => Err(RunError::TimedOut {
            timeout: deadline.timeout,
            stderr: Vec::new(),
        }),
        _ => Err(RunError::Cancelled),
    }
}

#[cfg(test)]
mod tests;
