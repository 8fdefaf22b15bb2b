//! The threads of a server.
//!
//! Work that blocks runs on threads that tokio starts on demand. If the system refuses a thread (process limit,
//! cgroup), tokio queues the work for its other such threads, but panics if it has none. So one is started at the
//! beginning, where a failure can still be reported, and no thread is ever stopped.

use std::io;
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

/// Longer than any server runs.
const KEPT: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// Builds a tokio runtime whose server continues when the system refuses more threads.
pub fn build_runtime(builder: &mut Builder) -> io::Result<Runtime> {
    // tokio would panic where this returns an error.
    thread::Builder::new().spawn(|| ())?.join().ok();
    let runtime = builder.enable_all().thread_keep_alive(KEPT).build()?;
    runtime.spawn_blocking(|| ());
    Ok(runtime)
}
