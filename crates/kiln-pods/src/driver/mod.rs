//! The task that owns the pod pools.
//!
//! It handles all messages that have arrived, passes events to the state machine, and spawns a task for each command
//! that needs the network. The results come back as messages. The driver itself waits only for messages and time.

mod cluster_writer;
mod connect;
mod create_pod;
mod lost_calls;
mod maintenance;
mod message;
mod observe;
mod start;
mod warm_up;
mod watch_health;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::{oneshot, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

use crate::config::pool_specs::PoolSpecs;
use crate::connection::PodConnection;
use crate::kube::cluster_view::{ClusterView, Notice, ReportedOwner};
use crate::kube::replicas::ReplicaLeases;
use crate::pool::{
    FaultScope, FunctionStarted, ImageKey, Moment, PodFault, PodId, PodPools, PoolCommand,
    PoolEvent, RequestFailure, RequestId,
};
use cluster_writer::ClusterWriter;
use lost_calls::{LostCall, SentCall};
use maintenance::Maintenance;
pub(crate) use message::{Assignment, Message};
use warm_up::WarmUp;
use watch_health::WatchHealth;

/// Maximum number of messages that are handled before the timers are checked.
const BATCH: usize = 256;

/// A request that is not finished, and the channel to its caller.
struct PendingRequest {
    image: ImageKey,
    /// The pod that the request was last sent to.
    sent: Option<SentCall>,
    reply: UnboundedSender<Assignment>,
}

/// Owns the pod pools and executes their commands.
pub(crate) struct Driver {
    pools: PodPools,
    view: ClusterView,
    replicas: ReplicaLeases,
    specs: PoolSpecs,
    watch_health: WatchHealth,
    maintenance: Maintenance,
    warm_up: WarmUp,
    requests: HashMap<RequestId, PendingRequest>,
    lost_calls: Vec<LostCall>,
    connections: HashMap<PodId, PodConnection>,
    connecting: HashMap<PodId, AbortHandle>,
    /// Sending on one of these cancels the creation of a pod.
    creations: HashMap<PodId, oneshot::Sender<()>>,
    writer: Arc<ClusterWriter>,
    tasks: JoinSet<()>,
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
                Some(_) = self.tasks.join_next() => (),
            }
            for message in batch.drain(..) {
                self.handle_message(message);
            }
            self.run_maintenance();
            self.update_watch_health();
            self.resolve_lost_calls();
            if self.is_done() {
                break;
            }
        }
        if let Err(error) = self.writer.delete_own_lease().await {
            tracing::warn!("cannot delete the lease of this replica: {error}");
        } else {
            self.writer.delete_unused_pull_secret().await;
        }
        if let Some(drained) = self.drained {
            // The receiver may have stopped waiting.
            let _ = drained.send(());
        }
    }

    /// Whether all pods are released and all tasks are finished.
    fn is_done(&self) -> bool {
        self.drained.is_some() && self.requests.is_empty() && self.tasks.is_empty()
    }

    fn now(&self) -> Moment {
        Moment(self.began.elapsed())
    }

    fn next_wake(&self) -> Instant {
        let tick = self
            .pools
            .next_tick()
            .map(|Moment(after)| self.began + after);
        // Avoids a busy loop if a timer is overdue.
        let soonest = Instant::now() + Duration::from_millis(10);
        let due = [
            Some(self.maintenance.next()),
            tick,
            self.next_lost_call_deadline(),
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
                let spec = self.specs.spec(&image);
                let pending = PendingRequest {
                    image: image.clone(),
                    sent: None,
                    reply,
                };
                self.requests.insert(request, pending);
                self.handle_event(PoolEvent::Request {
                    request,
                    image,
                    spec,
                });
            }
            Message::Event(event) => {
                if let PoolEvent::Finished { request } = event {
                    self.requests.remove(&request);
                    self.lost_calls
                        .retain(|lost_call| !lost_call.is_for(request));
                }
                self.handle_event(event);
            }
            Message::PodNamed { pod, name } => self.view.assign_own(pod, &name),
            Message::Created {
                pod,
                image,
                version,
            } => {
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
                self.view.set_owner(pod, ReportedOwner::Ours);
                self.handle_event(PoolEvent::Adopted { pod });
                let notices = self.view.report_again(pod);
                self.handle_notices(notices);
            }
            Message::Resolved { image, digest } => self.set_digest(&image, &digest),
            Message::CacheConfig(entries) => {
                self.specs.set_cache(&entries);
                self.refresh_specs();
                self.warm_up();
            }
            Message::LeaseRenewed(outcome) => self.lease_renewed(outcome),
            Message::Watched(update) => self.observe(*update),
            Message::Drain(drained) => {
                self.drained = Some(drained);
                self.handle_event(PoolEvent::Drain);
            }
        }
    }

    /// Passes an event to the state machine and executes the resulting commands.
    fn handle_event(&mut self, event: PoolEvent) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            let now = self.now();
            if let PoolEvent::Failed { pod, fault } = &event {
                let name = self.view.name_of(*pod).unwrap_or("(unnamed)");
                let image = self.pools.image_of(*pod).map(ImageKey::as_str);
                tracing::warn!(pod = name, image, "pod failed: {fault}");
            }
            if let PoolEvent::Unready { pod } | PoolEvent::Gone { pod } = &event {
                self.cancel_connect(*pod);
            }
            for command in self.pools.handle(now, event) {
                self.execute(command, &mut events);
            }
        }
    }

    /// Reacts to changes of the cluster view.
    fn handle_notices(&mut self, notices: Vec<Notice>) {
        for notice in notices {
            match notice {
                Notice::Event(event) => self.handle_event(event),
                Notice::Reachable(pod, address) => self.connect(pod, address),
                Notice::Unassigned(name) => self.review_unassigned_pod(&name),
                Notice::OwnerChanged(pod) => self.review_owner(pod),
            }
        }
    }

    fn execute(&mut self, command: PoolCommand, events: &mut VecDeque<PoolEvent>) {
        match command {
            PoolCommand::Start { request, pod } => {
                let Some(pending) = self.requests.get_mut(&request) else {
                    return;
                };
                pending.sent = Some(SentCall::new(pod, &self.view));
                let reply = &pending.reply;
                match self.connections.get(&pod) {
                    // A caller that has cancelled the request reports that itself.
                    Some(PodConnection { client, .. }) => {
                        drop(reply.send(Assignment::Pod(client.clone())));
                    }
                    None => events.push_back(PoolEvent::CallLost {
                        request,
                        started: FunctionStarted::No,
                        fault: not_connected(),
                    }),
                }
            }
            PoolCommand::Fail {
                request,
                failure: RequestFailure::Interrupted(fault),
            } => {
                self.await_reason(request, fault);
            }
            PoolCommand::Fail { request, failure } => self.fail(request, failure),
            PoolCommand::Create { pod, image, .. } => self.create(pod, image, events),
            PoolCommand::Check { pod } => {
                let notices = self.view.report_again(pod);
                for notice in notices {
                    match notice {
                        Notice::Event(event) => events.push_back(event),
                        other => self.handle_notices(vec![other]),
                    }
                }
            }
            PoolCommand::Delete { pod } => self.delete(pod, events),
            PoolCommand::Forget { pod } => {
                self.cancel_connect(pod);
                self.connections.remove(&pod);
                self.creations.remove(&pod);
                self.view.forget(pod);
            }
            PoolCommand::RestoreService { pod } => self.restore_service(pod),
            PoolCommand::DeleteService { pod } => {
                if let Some(name) = self.view.name_of(pod).map(str::to_owned) {
                    let uid = self
                        .view
                        .service(&name)
                        .map(|service| service.metadata.uid.clone());
                    self.spawn(|writer| async move { writer.delete_service(&name, uid).await });
                }
            }
            PoolCommand::Annotate { pod, reclaim_in } => {
                if let Some(name) = self.view.name_of(pod).map(str::to_owned) {
                    self.spawn(|writer| async move { writer.annotate(&name, reclaim_in).await });
                }
            }
            PoolCommand::Adopt { pod } => self.with_pod(pod, events, |writer, view| async move {
                writer.adopt(pod, view).await;
            }),
            PoolCommand::Collect { pod } => self.with_pod(pod, events, |writer, view| async move {
                writer.collect(pod, view).await;
            }),
            PoolCommand::ProbeUsage { pod } => self.probe_usage(pod, events),
            PoolCommand::Release { pod } => self.with_pod(pod, events, |writer, view| async move {
                writer.release(view).await;
            }),
        }
    }

    fn fail(&self, request: RequestId, failure: RequestFailure) {
        if let Some(PendingRequest { reply, .. }) = self.requests.get(&request) {
            // A caller that has cancelled the request reports that itself.
            let _ = reply.send(Assignment::Fail(failure));
        }
    }

    fn create(&mut self, pod: PodId, image: ImageKey, events: &mut VecDeque<PoolEvent>) {
        let template = match self.specs.effective_template(image.as_str()) {
            Ok(template) => template,
            Err(reason) => {
                let fault = PodFault {
                    reason: "InvalidTemplate".into(),
                    message: reason.into(),
                    scope: FaultScope::Image,
                };
                return events.push_back(PoolEvent::Failed { pod, fault });
            }
        };
        let spec = self.specs.spec(&image);
        let (stop, stopped) = oneshot::channel();
        self.creations.insert(pod, stop);
        self.spawn(|writer| {
            create_pod::create_pod(writer, pod, image, template, spec.settings, stopped)
        });
    }

    fn delete(&mut self, pod: PodId, events: &mut VecDeque<PoolEvent>) {
        if let Some(creation) = self.creations.remove(&pod)
            && creation.send(()).is_ok()
        {
            // The task that creates the pod deletes it and reports the result.
            return;
        }
        let Some(name) = self.view.name_of(pod).map(str::to_owned) else {
            return events.push_back(PoolEvent::Gone { pod });
        };
        let uid = self.view.pod(&name).map(|view| view.metadata.uid.clone());
        self.spawn(|writer| async move { writer.delete_pod(pod, &name, uid).await });
    }

    fn restore_service(&mut self, pod: PodId) {
        let Some(view) = self.view(pod) else {
            return;
        };
        match self.specs.templates.current() {
            Ok(templates) => self.spawn(|writer| async move {
                let created =
                    writer.create_service(&templates, &view.metadata.name, &view.metadata.uid);
                if let Err(error) = created.await {
                    let fault = error.fault("unable to create the service of the pod again");
                    writer.send_event(PoolEvent::Failed { pod, fault });
                }
            }),
            Err(reason) => tracing::error!("cannot create the service of a pod: {reason}"),
        }
    }

    fn view(&self, pod: PodId) -> Option<crate::kube::views::PodView> {
        let name = self.view.name_of(pod)?;
        self.view.pod(name).cloned()
    }

    /// Runs a task on a pod if it exists.
    fn with_pod<F>(
        &mut self,
        pod: PodId,
        events: &mut VecDeque<PoolEvent>,
        task: impl FnOnce(Arc<ClusterWriter>, crate::kube::views::PodView) -> F,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        match self.view(pod) {
            Some(view) => self.spawn(|writer| task(writer, view)),
            None => events.push_back(PoolEvent::Gone { pod }),
        }
    }

    fn spawn<F>(&mut self, task: impl FnOnce(Arc<ClusterWriter>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.tasks.spawn(task(Arc::clone(&self.writer)));
    }
}

fn not_connected() -> PodFault {
    PodFault {
        reason: "ConnectionLost".into(),
        message: "there is no connection to the pod".into(),
        scope: FaultScope::Pod,
    }
}

#[cfg(test)]
mod tests;
