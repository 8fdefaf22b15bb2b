//! Continuous callers during disruptions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;
use tokio::task::JoinSet;
use tonic::Status;

use super::runner::Caller;

/// Continuous calls, and their failures.
pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    answered: watch::Sender<u64>,
    callers: JoinSet<Vec<Status>>,
}

impl Load {
    /// Starts so many callers of one image.
    pub(crate) fn start(caller: &Caller, image: &str, callers: usize) -> Load {
        let mut load = Load {
            stop: Arc::default(),
            answered: watch::Sender::new(0),
            callers: JoinSet::new(),
        };
        for _ in 0..callers {
            let (caller, image) = (caller.clone(), image.to_owned());
            let (stop, answered) = (Arc::clone(&load.stop), load.answered.clone());
            load.callers.spawn(async move {
                let mut failures = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    match caller.call(&image, &[]).await {
                        Ok(()) => answered.send_modify(|count| *count += 1),
                        Err(status) => failures.push(status),
                    }
                }
                failures
            });
        }
        load
    }

    /// Waits until so many more calls have been answered.
    pub(crate) async fn answers(&self, count: u64) {
        let mut answered = self.answered.subscribe();
        let goal = *answered.borrow() + count;
        let reached = answered.wait_for(|answered| *answered >= goal);
        reached.await.expect("the sender is ours");
    }

    /// Stops, and returns the failures.
    pub(crate) async fn stop(mut self) -> Vec<Status> {
        self.stop.store(true, Ordering::Relaxed);
        let mut failures = Vec::new();
        while let Some(caller) = self.callers.join_next().await {
            failures.extend(caller.expect("a task"));
        }
        failures
    }

    /// Stops, and fails the test if a call failed.
    pub(crate) async fn stop_without_failures(self) {
        let failures = self.stop().await;
        assert!(failures.is_empty(), "{failures:#?}");
    }
}
