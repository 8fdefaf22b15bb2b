//! Ctrl-C and other requests to end. Functions run in process groups of their own, so kiln passes the request on.

use std::process::ExitCode;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use kiln_runtime::{CancelToken, process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// The signal that asked us to end; 0 if none did.
static SIGNAL: AtomicI32 = AtomicI32::new(0);

/// Signals that come within this time of the first say the same.
const ONE_WISH: Duration = Duration::from_millis(500);

/// A command that has not ended by then is ended, whatever it does. Functions that run in this process cannot be killed, and
/// reading or comparing very large files does not look at the token.
const LAST_MOMENT: Duration = Duration::from_secs(10);

/// A token that is cancelled when the user wants kiln to end. Asked for twice, kiln ends at once, and kills what is
/// running. There is but one token.
pub(crate) fn on_interrupt() -> CancelToken {
    static TOKEN: OnceLock<CancelToken> = OnceLock::new();
    TOKEN.get_or_init(listen).clone()
}

/// The exit code of a command that failed because it was asked to end, as shells have it: 128 and the signal.
pub(crate) fn exit_code() -> Option<ExitCode> {
    let signal = SIGNAL.load(Ordering::SeqCst);
    let code = 128_i32.checked_add(signal).filter(|_| signal != 0)?;
    Some(ExitCode::from(u8::try_from(code).ok()?))
}

fn listen() -> CancelToken {
    // A function that is killed takes with it what it left to us.
    process::adopt_orphans();
    let token = CancelToken::new();
    let cancelled = token.clone();
    let (ready, is_ready) = mpsc::channel();
    // Without this thread, and without signals, the user's wish ends kiln as it ends any program. So signals are taken on
    // the thread: once they are, the system no longer ends kiln by itself.
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
    let mut asked = signals.forever();
    if let Some(signal) = asked.next() {
        SIGNAL.store(signal, Ordering::SeqCst);
        token.cancel();
    }
    let first = Instant::now();
    // If the system refuses this thread, the second signal still ends kiln at once.
    let _ = thread::Builder::new().spawn(move || {
        while let Some(left) = LAST_MOMENT.checked_sub(first.elapsed()) {
            thread::park_timeout(left);
        }
        end_now(SIGNAL.load(Ordering::SeqCst));
    });
    // `timeout` and some terminals send a signal twice, to us and to our group; that is one wish, and the first
    // has to have time to remove containers.
    if let Some(signal) = asked.find(|_| first.elapsed() >= ONE_WISH) {
        end_now(signal);
    }
}

/// Ends kiln as the signal would have without a handler. Packages are safe: what is being written is finished or undone by
/// the next command.
fn end_now(signal: i32) {
    process::kill_running();
    let _ = signal_hook::low_level::emulate_default_handler(signal);
}
