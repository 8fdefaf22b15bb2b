//! Signals that stop a server.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::lifecycle::StopHandle;

/// The signals that stop a server.
pub struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    /// Begins to catch the signals. Called before the port is bound: a signal that arrives before this ends the process,
    /// and one that arrives during it is lost.
    pub fn listen() -> io::Result<StopSignals> {
        Ok(StopSignals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Stops a server on signals: `SIGTERM` and the first `SIGINT` let running calls finish, a second `SIGINT` stops it
    /// at once. The future runs as long as the server does.
    pub async fn stop(mut self, server: StopHandle) {
        let mut interrupts = 0;
        loop {
            tokio::select! {
                Some(()) = self.terminate.recv() => {
                    tracing::info!("SIGTERM: finishing running calls");
                    server.drain();
                }
                Some(()) = self.interrupt.recv() => {
                    interrupts += 1;
                    if interrupts == 1 {
                        tracing::info!("SIGINT: finishing running calls; once more to end now");
                        server.drain();
                    } else {
                        tracing::info!("SIGINT: ending now");
                        server.now();
                    }
                }
                else => return,
            }
        }
    }
}
