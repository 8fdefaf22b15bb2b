//! Compiles modules while a server interprets them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use super::{LoadedModule, Tiers};

/// Modules that wait for the compiler, and whether its thread runs.
struct CompileQueue {
    waiting: VecDeque<(Arc<Tiers>, Arc<LoadedModule>)>,
    has_thread: bool,
}

static QUEUE: Mutex<CompileQueue> = Mutex::new(CompileQueue {
    waiting: VecDeque::new(),
    has_thread: false,
});

/// The most modules that wait. More are not compiled, only interpreted.
const MAX_WAITING: usize = 64;

/// Compiles a module when those before it are done.
pub(super) fn compile(tiers: Arc<Tiers>, loaded: Arc<LoadedModule>) {
    let mut queue = QUEUE.lock().unwrap_or_else(PoisonError::into_inner);
    if queue.waiting.len() >= MAX_WAITING {
        return;
    }
    queue.waiting.push_back((tiers, loaded));
    if !queue.has_thread {
        let thread = std::thread::Builder::new().name("wasm-compiler".to_owned());
        queue.has_thread = thread.spawn(work).is_ok();
    }
}

fn work() {
    // Only this thread and those that it starts. Nothing depends on it.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, 10);
    loop {
        let next = {
            let mut queue = QUEUE.lock().unwrap_or_else(PoisonError::into_inner);
            let next = queue.waiting.pop_front();
            queue.has_thread = next.is_some();
            next
        };
        let Some((tiers, loaded)) = next else {
            return;
        };
        let digest = loaded.module.digest;
        match tiers.compile_now(&loaded) {
            Ok(_) => tracing::debug!(module = %digest, "compiled a WebAssembly module"),
            Err(error) => {
                tracing::warn!(module = %digest, "cannot compile a WebAssembly module: {error}");
            }
        }
    }
}
