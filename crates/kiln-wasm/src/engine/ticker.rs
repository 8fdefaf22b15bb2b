//! Advances the epoch of the compiler's engine while modules run.
//!
//! One thread ticks for all calls. It ends when no call runs for a while, so that an idle program has no timer.

use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use wasmtime::Engine;

/// How often a module looks at its deadline.
const TICK: Duration = Duration::from_millis(10);

/// How long the thread waits for the next call.
const LINGER: Duration = Duration::from_secs(1);

struct Ticker {
    state: Mutex<TickerState>,
    /// The first of several calls has begun.
    begun: Condvar,
}

struct TickerState {
    /// How many calls run.
    running: usize,
    has_thread: bool,
}

static TICKER: Ticker = Ticker {
    state: Mutex::new(TickerState {
        running: 0,
        has_thread: false,
    }),
    begun: Condvar::new(),
};

/// Ticks until it is dropped.
pub(super) struct Ticking(());

/// Begins to tick.
pub(super) fn start(engine: &'static Engine) -> io::Result<Ticking> {
    let mut state = TICKER.lock();
    if !state.has_thread {
        let thread = std::thread::Builder::new().name("wasm-ticker".to_owned());
        thread.spawn(move || TICKER.tick(engine))?;
        state.has_thread = true;
    }
    state.running += 1;
    if state.running == 1 {
        TICKER.begun.notify_all();
    }
    Ok(Ticking(()))
}

impl Drop for Ticking {
    fn drop(&mut self) {
        TICKER.lock().running -= 1;
    }
}

impl Ticker {
    fn tick(&self, engine: &Engine) {
        let mut state = self.lock();
        loop {
            if state.running == 0 {
                let is_idle = |state: &mut TickerState| state.running == 0;
                let waited = self.begun.wait_timeout_while(state, LINGER, is_idle);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
                if state.running == 0 {
                    state.has_thread = false;
                    return;
                }
            }
            let waited = self.begun.wait_timeout(state, TICK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            engine.increment_epoch();
        }
    }

    fn lock(&self) -> MutexGuard<'_, TickerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
