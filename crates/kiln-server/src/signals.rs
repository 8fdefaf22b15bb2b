//! Signals that stop a server.

use std::io;

use crate::lifecycle::StopHandle;

/// Stops a server on signals: `SIGTERM` and the first `SIGINT` let running calls finish, a second `SIGINT` stops it at
/// once. The future runs as long as the server does.
pub fn stop_on_signals(stop: StopHandle) -> io::Result<impl Future<Output = ()> + Send> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        let mut interrupts = 0;
        loop {
            tokio::select! {
                Some(()) = terminate.recv() => {
                    tracing::info!("SIGTERM: finishing running calls");
                    stop.drain();
                }
                Some(()) = interrupt.recv() => {
                    interrupts += 1;
                    if interrupts == 1 {
                        tracing::info!("SIGINT: finishing running calls; once more to end now");
                        stop.drain();
                    } else {
                        tracing::info!("SIGINT: ending now");
                        stop.now();
                    }
                }
                else => return,
            }
        }
    })
}
