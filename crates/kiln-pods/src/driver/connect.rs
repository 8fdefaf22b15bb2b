//! Connections to pods.
//!
//! A pod that is ready according to Kubernetes but cannot be reached has failed, and waiting requests go to another
//! pod. Until then the reason is reported to them. While the watches are down the driver keeps trying, because no other
//! pod can be created.

use std::sync::Arc;

use super::Driver;
use super::cold_starts::StartStep;
use super::controller::CommandSink as _;
use super::message::{Assignment, ConnectOutcome, Message};
use super::tasks::DriverTasks;
use crate::connection::address::PodAddress;
use crate::connection::{PodConnection, connect};
use crate::pool::{FaultScope, PodFault, PodId, PoolEvent};

impl DriverTasks {
    /// Connects in a task. A message reports the result.
    pub(super) fn start_connecting(&mut self, pod: PodId, address: PodAddress) {
        self.cancel_connect(pod);
        let writer = Arc::clone(&self.writer);
        let task = self.running.spawn(async move {
            let reason = |error: &str, outcome| Message::ConnectFailed {
                pod,
                reason: format!("cannot connect to {}: {error}", address.host_port),
                outcome,
            };
            let on_error = |error: &str| writer.send(reason(error, ConnectOutcome::WillRetry));
            let connected = connect(&address, writer.settings.max_message_size, on_error).await;
            writer.send(match connected {
                Ok(connection) => Message::Connected { pod, connection },
                Err(error) => reason(&error, ConnectOutcome::GaveUp),
            });
        });
        self.connecting.insert(pod, task);
    }

    /// Asks a pod for the time since its last call. Returns the result if there is no connection.
    pub(super) fn probe_usage(&mut self, pod: PodId) -> Option<PoolEvent> {
        let Some(connection) = self.connections.get(&pod).cloned() else {
            return Some(PoolEvent::UsageProbed { pod, idle: None });
        };
        self.spawn(|writer| async move {
            let idle = connection.idle().await;
            writer.send_event(PoolEvent::UsageProbed { pod, idle });
        });
        None
    }
}

impl Driver {
    pub(super) fn connected(&mut self, pod: PodId, connection: PodConnection) {
        if self.tasks.connecting.remove(&pod).is_some() {
            self.tasks.connections.insert(pod, connection);
            self.tasks.cold_starts.reached(pod, StartStep::Connected);
            self.handle_event(PoolEvent::Ready { pod });
        }
    }

    pub(super) fn connect_failed(&mut self, pod: PodId, reason: &str, outcome: ConnectOutcome) {
        if !self.tasks.connecting.contains_key(&pod) {
            return;
        }
        let name = self.controller.view.name_of(pod).unwrap_or_default();
        let reason = format!("pod {name}: {reason}");
        self.report_delay(pod, reason.as_str().into());
        if outcome == ConnectOutcome::WillRetry {
            return;
        }
        self.tasks.connecting.remove(&pod);
        if self.watch_health.is_synced() {
            let fault = PodFault {
                reason: "Unreachable".into(),
                message: reason.into(),
                scope: FaultScope::Pod,
            };
            self.handle_event(PoolEvent::Failed { pod, fault });
        } else {
            let notices = self.controller.view.report_again(pod);
            self.handle_notices(notices);
        }
    }

    /// Reports to all requests of the same image why they have to wait.
    pub(super) fn report_delay(&self, pod: PodId, reason: Arc<str>) {
        let Some(image) = self.controller.pools.image_of(pod) else {
            return;
        };
        for pending in self
            .tasks
            .requests
            .values()
            .filter(|pending| pending.image == *image)
        {
            // A caller that has cancelled the request reports that itself.
            let _ = pending.reply.send(Assignment::Delayed(Arc::clone(&reason)));
        }
    }
}
