//! The threads of a program that serves.
//!
//! Work that blocks runs on threads that the runtime starts when it needs them. Where the system refuses (a limit of processes,
//! a cgroup), the runtime queues the work for its other such threads, but panics if it has none. So one is started at the
//! beginning, when that can still fail in good order, and no thread is ever given up.

use std::io;
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

/// Longer than any server runs.
const KEPT: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// Builds a runtime whose service goes on when the system gives no more threads.
pub fn build_runtime(builder: &mut Builder) -> io::Result<Runtime> {
    // The runtime would panic where this is an error.
    thread::Builder::new().spawn(|| ())?.join().ok();
    let runtime = builder.enable_all().thread_keep_alive(KEPT).build()?;
    runtime.spawn_blocking(|| ());
    Ok(runtime)
}
