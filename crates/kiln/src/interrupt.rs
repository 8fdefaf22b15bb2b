//! Ctrl-C and other signals that end kiln. Functions run in their own process groups, so kiln has to stop them.
//!
//! A signal cancels a token, which stops functions and requests. Work that does not heed the token, such as reading a package, is
//! marked by [`interruptible`]: there a signal ends kiln at once.

use std::process::ExitCode;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use kiln_runtime::{CancelToken, process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// The signal that was received; 0 if none was.
static SIGNAL: AtomicI32 = AtomicI32::new(0);

/// Signals within this time of the first are the same request.
const SAME_REQUEST: Duration = Duration::from_millis(500);

/// After this time kiln exits whatever it does.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);

/// How many calls of [`interruptible`] are running.
static INTERRUPTIBLE: Mutex<usize> = Mutex::new(0);

/// The token that a signal cancels. After a second signal kiln kills what is running and exits at once. All calls return the
/// same token.
pub(crate) fn on_interrupt() -> CancelToken {
    static TOKEN: OnceLock<CancelToken> = OnceLock::new();
    TOKEN.get_or_init(listen).clone()
}

/// Does work that loses nothing if kiln ends in the middle of it. A signal ends kiln unless a function is running, which heeds the
/// token.
pub(crate) fn interruptible<T>(work: impl FnOnce() -> T) -> T {
    struct Running;
    impl Drop for Running {
        fn drop(&mut self) {
            *count_interruptible() -= 1;
        }
    }
    *count_interruptible() += 1;
    let _running = Running;
    work()
}

fn count_interruptible() -> MutexGuard<'static, usize> {
    INTERRUPTIBLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The exit code of a command that failed because of a signal, as shells have it: 128 plus the signal.
pub(crate) fn exit_code() -> Option<ExitCode> {
    let signal = SIGNAL.load(Ordering::SeqCst);
    let code = 128_i32.checked_add(signal).filter(|_| signal != 0)?;
    Some(ExitCode::from(u8::try_from(code).ok()?))
}

/// Fails after a signal. What writes calls this first, because a signal between two steps ends no function that could report
/// it.
pub(crate) fn check() -> Result<()> {
    match exit_code() {
        Some(_) => bail!("interrupted; nothing was written"),
        None => Ok(()),
    }
}

fn listen() -> CancelToken {
    // Descendants of a killed function become our children, so that they are killed too.
    process::adopt_orphans();
    let token = CancelToken::new();
    let cancelled = token.clone();
    let (ready, is_ready) = mpsc::channel();
    // Handlers are installed on the thread: once they are, a signal no longer ends kiln by itself, so kiln must not install them
    // if the thread does not start.
    let thread = thread::Builder::new().spawn(move || {
        let signals = Signals::new([SIGHUP, SIGINT, SIGTERM]);
        let _ = ready.send(());
        if let Ok(signals) = signals {
            follow(signals, &cancelled);
        }
    });
    if thread.is_ok() {
        let _ = is_ready.recv();
    }
    token
}

fn follow(mut signals: Signals, token: &CancelToken) {
    let mut received = signals.forever();
    if let Some(signal) = received.next() {
        SIGNAL.store(signal, Ordering::SeqCst);
        {
            // While this is locked, interruptible work does not go on to write.
            let count = count_interruptible();
            if *count > 0 && !token.has_listeners() {
                end_now(signal);
            }
        }
        token.cancel();
    }
    let first = Instant::now();
    // Without this thread, a second signal still ends kiln at once.
    let _ = thread::Builder::new().spawn(move || {
        while let Some(left) = EXIT_TIMEOUT.checked_sub(first.elapsed()) {
            thread::park_timeout(left);
        }
        end_now(SIGNAL.load(Ordering::SeqCst));
    });
    // `timeout` and some terminals send a signal twice, to us and to our group. That is one request, and kiln needs time to
    // remove containers.
    if let Some(signal) = received.find(|_| first.elapsed() >= SAME_REQUEST) {
        end_now(signal);
    }
}

/// Ends kiln as the signal would without a handler. Packages are safe: the next command finishes or undoes an interrupted
/// write.
fn end_now(signal: i32) {
    process::kill_running();
    let _ = signal_hook::low_level::emulate_default_handler(signal);
}
