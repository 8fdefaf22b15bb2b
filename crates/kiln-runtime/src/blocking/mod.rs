//! Waits on the calling thread for a function that runs elsewhere.

use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::context::{Deadline, RunContext};
use crate::evaluator::{AsyncRunner, RunFuture, Runner};
use crate::input::Input;
use crate::outcome::{Outcome, Output, RunError};

/// An [`AsyncRunner`] for callers that may block. It applies the deadline, the limits and the cancel token of the call.
pub(crate) struct BlockingRunner(pub(crate) Arc<dyn AsyncRunner>);

impl Runner for BlockingRunner {
    fn run(&self, input: &Input<'_>, ctx: &RunContext) -> Result<Outcome, RunError> {
        if ctx.cancel.is_cancelled() {
            return Err(RunError::Cancelled);
        }
        let list = Bytes::copy_from_slice(input.wire().as_bytes());
        let ctx = &RunContext {
            deadline: Deadline::at_most(ctx.deadline, self.0.max_time()),
            ..ctx.clone()
        };
        let outcome = wait(self.0.run(list, ctx.deadline), ctx)?;
        let limit = ctx.limits.max_output;
        let output = match &outcome.output {
            Output::Wire(bytes) => bytes.len(),
            Output::List(_) => 0,
        };
        if output as u64 + outcome.stderr.len() as u64 > limit {
            return Err(RunError::OutputTooLarge { limit });
        }
        if let Some(listener) = &ctx.on_stderr {
            listener.receive(&outcome.stderr);
        }
        Ok(outcome)
    }

    fn max_time(&self) -> Option<Duration> {
        self.0.max_time()
    }
}

/// Polls the future on this thread until it is ready, the deadline passes or the caller cancels; then drops it.
fn wait(mut future: RunFuture<'_>, ctx: &RunContext) -> Result<Outcome, RunError> {
    let this_thread = thread::current();
    let _guard = ctx.cancel.on_cancel(move || this_thread.unpark());
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut task = Context::from_waker(&waker);
    loop {
        if ctx.cancel.is_cancelled() {
            return Err(RunError::Cancelled);
        }
        let left = ctx
            .deadline
            .map(|deadline| deadline.at.saturating_duration_since(Instant::now()));
        if let (Some(deadline), Some(left)) = (ctx.deadline, left)
            && left.is_zero()
        {
            return Err(RunError::TimedOut {
                timeout: deadline.timeout,
                stderr: Vec::new(),
            });
        }
        if let Poll::Ready(ran) = future.as_mut().poll(&mut task) {
            return ran;
        }
        match left {
            Some(left) => thread::park_timeout(left),
            None => thread::park(),
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Unpark>) {
        self.0.unpark();
    }
}

#[cfg(test)]
mod tests;
