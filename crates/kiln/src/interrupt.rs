//! Ctrl-C and polite requests to end: functions run in process groups of their own, so that somebody has to tell them.

use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use kiln_runtime::{CancelToken, process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// The signal that asked us to end; 0 if none did.
static SIGNAL: AtomicI32 = AtomicI32::new(0);

/// Signals that come within this time of the first say the same.
const ONE_WISH: Duration = Duration::from_millis(500);

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
    // Without signals the user's wish ends kiln as it ends any program.
    if let Ok(mut signals) = Signals::new([SIGHUP, SIGINT, SIGTERM]) {
        let cancelled = token.clone();
        std::thread::spawn(move || {
            let mut asked = signals.forever();
            if let Some(signal) = asked.next() {
                SIGNAL.store(signal, Ordering::SeqCst);
                cancelled.cancel();
            }
            let first = Instant::now();
            // `timeout` and some terminals send a signal twice, to us and to our group; that is one wish, and the first
            // has to have time to remove containers.
            if let Some(signal) = asked.find(|_| first.elapsed() >= ONE_WISH) {
                process::kill_running();
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
        });
    }
    token
}
