//! The task that owns the pod pools.
//!
//! It handles all messages that have arrived, passes events to the [controller](controller::PodController), which
//! decides, and spawns a task for each command that needs the network. The results come back as messages. The driver
//! itself waits only for messages and time.

mod cluster_writer;
mod cold_starts;
mod connect;
pub(crate) mod controller;
mod create_pod;
mod lost_calls;
mod maintenance;
mod message;
mod observe;
mod snapshot;
mod start;
mod tasks;
mod warm_up;
mod watch_health;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use crate::kube::cluster_view::Notice;
use crate::pool::{Moment, PoolEvent};
use cold_starts::StartStep;
use controller::PodController;
use maintenance::Maintenance;
pub(crate) use message::{Assignment, Message};
use tasks::{DriverTasks, PendingRequest};
use warm_up::WarmUp;
use watch_health::WatchHealth;

/// Maximum number of messages that are handled before the timers are checked.
const BATCH: usize = 256;

/// Owns the pod pools and executes their commands.
pub(crate) struct Driver {
    controller: PodController,
    tasks: DriverTasks,
    watch_health: WatchHealth,
    maintenance: Maintenance,
    warm_up: WarmUp,
    usable: watch::Sender<bool>,
    /// Makes all watches start again.
    restart_watches: watch::Sender<()>,
    /// Set while draining; notified when that is done.
    drained: Option<oneshot::Sender<()>>,
    began: Instant,
}

impl Driver {
    /// Runs until the pools are drained.
    async fn run(mut self, mut messages: UnboundedReceiver<Message>) {
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            let wake = self.next_wake();
            tokio::select! {
                _ = messages.recv_many(&mut batch, BATCH) => (),
                () = tokio::time::sleep_until(wake) => (),
                Some(_) = self.tasks.running.join_next() => (),
            }
            for message in batch.drain(..) {
                self.handle_message(message);
            }
            self.run_maintenance();
            self.update_watch_health();
            self.tasks.resolve_lost_calls(&self.controller.view);
            if self.is_done() {
                break;
            }
        }
        let writer = &self.tasks.writer;
        if let Err(error) = writer.delete_own_lease().await {
            tracing::warn!("cannot delete the lease of this replica: {error}");
        } else {
            writer.delete_unused_pull_secret().await;
        }
        if let Some(drained) = self.drained {
            // The receiver may have stopped waiting.
            let _ = drained.send(());
        }
    }

    /// Whether all pods are released and all tasks are finished.
    fn is_done(&self) -> bool {
        let tasks = &self.tasks;
        self.drained.is_some() && tasks.requests.is_empty() && tasks.running.is_empty()
    }

    fn now(&self) -> Moment {
        Moment(self.began.elapsed())
    }

    fn next_wake(&self) -> Instant {
        let tick = self.controller.pools.next_tick();
        let tick = tick.map(|Moment(after)| self.began + after);
        // Avoids a busy loop if a timer is overdue.
        let soonest = Instant::now() + Duration::from_millis(10);
        let due = [
            Some(self.maintenance.next()),
            tick,
            self.tasks.next_lost_call_deadline(),
        ];
        let next = due.into_iter().flatten().min();
        next.unwrap_or(soonest).max(soonest)
    }

    fn handle_message(&mut self, message: Message) {
        match message {
            Message::Request {
                request,
                image,
                reply,
            } => {
                let spec = self.tasks.specs.spec(&image);
                let pending = PendingRequest {
                    image: image.clone(),
                    sent: None,
                    reply,
                };
                self.tasks.requests.insert(request, pending);
                self.handle_event(PoolEvent::Request {
                    request,
                    image,
                    spec,
                });
            }
            Message::Event(event) => {
                if let PoolEvent::Finished { request } = event {
                    self.tasks.forget_request(request);
                }
                self.handle_event(event);
            }
            Message::PodNamed { pod, name } => {
                self.controller.view.assign_own(pod, &name);
                self.tasks.cold_starts.named(pod, name);
            }
            Message::Created {
                pod,
                image,
                version,
            } => {
                self.tasks.cold_starts.reached(pod, StartStep::Created);
                if let Some(digest) = &version.digest {
                    self.set_digest(&image, &Arc::clone(digest));
                }
                self.handle_event(PoolEvent::Created { pod, version });
            }
            Message::Connected { pod, connection } => self.connected(pod, connection),
            Message::ConnectFailed {
                pod,
                reason,
                outcome,
            } => self.connect_failed(pod, &reason, outcome),
            Message::PodDelayed { pod, reason } => self.report_delay(pod, reason.into()),
            Message::Adopted(pod) => {
                let now = self.now();
                self.controller.adopted(now, pod, &mut self.tasks);
            }
            Message::Resolved { image, digest } => self.set_digest(&image, &digest),
            Message::CacheConfig(entries) => {
                self.tasks.specs.set_cache(&entries);
                self.refresh_specs();
                self.warm_up();
            }
            Message::LeaseRenewed(outcome) => self.lease_renewed(outcome),
            Message::Watched(update) => self.observe(*update),
            Message::Snapshot(reply) => {
                // The receiver may have stopped waiting.
                let _ = reply.send(self.snapshot());
            }
            Message::Drain(drained) => {
                self.drained = Some(drained);
                let now = self.now();
                self.controller.drain(now, &mut self.tasks);
            }
        }
    }

    /// Passes an event to the state machine and executes the resulting commands.
    fn handle_event(&mut self, event: PoolEvent) {
        let now = self.now();
        self.controller.handle(now, event, &mut self.tasks);
    }

    /// Reacts to changes of the cluster view.
    fn handle_notices(&mut self, notices: Vec<Notice>) {
        let now = self.now();
        let tasks = &mut self.tasks;
        self.controller.handle_notices(now, notices, tasks);
    }
}

#[cfg(test)]
mod tests;
