//! Ctrl-C and polite requests to end: functions run in process groups of their own, so that somebody has to tell them.

use kiln_runtime::CancelToken;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// A token that is cancelled when the user wants kiln to end. Asked for twice, kiln ends at once.
pub(crate) fn on_interrupt() -> CancelToken {
    let token = CancelToken::new();
    // Without signals the user's wish ends kiln as it ends any program.
    if let Ok(mut signals) = Signals::new([SIGHUP, SIGINT, SIGTERM]) {
        let cancelled = token.clone();
        std::thread::spawn(move || {
            let mut asked = signals.forever();
            if asked.next().is_some() {
                cancelled.cancel();
            }
            if let Some(signal) = asked.next() {
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
        });
    }
    token
}
