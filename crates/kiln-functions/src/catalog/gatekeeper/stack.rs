//! The thread that evaluates policies, with a stack that suffices for every accepted policy.
//!
//! The engine checks the clock between steps, but one step can be a comparison of values that takes minutes. The
//! caller waits only briefly beyond the deadline: a thread that has not ended by then is abandoned.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use super::Halt;
use super::limits::{Meter, STACK};

/// How often the caller checks for cancellation.
const INTERVAL: Duration = Duration::from_millis(10);

/// How long a thread may take to stop.
const GRACE: Duration = Duration::from_millis(300);

pub(super) fn run<T: Send + 'static>(
    meter: &Arc<Meter>,
    work: impl FnOnce(&Arc<Meter>) -> Result<T, Halt> + Send + 'static,
) -> Result<T, Halt> {
    let (sender, receiver) = channel();
    let of_thread = meter.clone();
    let thread = std::thread::Builder::new()
        .name("rego".to_owned())
        .stack_size(STACK)
        .spawn(move || {
            // The caller may have stopped waiting.
            _ = sender.send(work(&of_thread));
        })
        .map_err(|error| format!("start a thread for policies: {error}"))?;
    let mut stopped_at = None;
    loop {
        match receiver.recv_timeout(INTERVAL) {
            Ok(answer) => return answer,
            Err(RecvTimeoutError::Timeout) => {
                let Err(stopped) = meter.stopped() else {
                    continue;
                };
                meter.stop();
                let stopped_at = *stopped_at.get_or_insert_with(Instant::now);
                if stopped_at.elapsed() > GRACE {
                    return Err(Halt::Stopped(stopped));
                }
            }
            Err(RecvTimeoutError::Disconnected) => match thread.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(()) => return Err("the thread for policies ended early".to_owned().into()),
            },
        }
    }
}
