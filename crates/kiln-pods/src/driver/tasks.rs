//! Executes the commands of the controller: a task for each that needs the network, and messages to callers.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;
use tokio::task::{AbortHandle, JoinSet};

use super::cluster_writer::ClusterWriter;
use super::cold_starts::{ColdStarts, StartStep};
use super::controller::CommandSink;
use super::create_pod;
use super::lost_calls::{LostCall, SentCall};
use super::maintenance::unix_now;
use super::message::Assignment;
use crate::config::pool_specs::PoolSpecs;
use crate::connection::PodConnection;
use crate::connection::address::PodAddress;
use crate::kube::cluster_view::ClusterView;
use crate::kube::names::DIGEST_ANNOTATION;
use crate::kube::views::PodView;
use crate::pool::{
    FaultScope, FunctionStarted, ImageKey, PodFault, PodId, PoolCommand, PoolEvent, PoolSpec,
    RequestFailure, RequestId,
};

/// A request that is not finished, and the channel to its caller.
pub(super) struct PendingRequest {
    pub(super) image: ImageKey,
    /// The pod that the request was last sent to.
    pub(super) sent: Option<SentCall>,
    pub(super) reply: UnboundedSender<Assignment>,
}

/// The tasks of the driver, its connections and its callers.
pub(super) struct DriverTasks {
    pub(super) specs: PoolSpecs,
    pub(super) requests: HashMap<RequestId, PendingRequest>,
    pub(super) lost_calls: Vec<LostCall>,
    pub(super) connections: HashMap<PodId, PodConnection>,
    pub(super) connecting: HashMap<PodId, AbortHandle>,
    /// Sending on one of these cancels the creation of a pod.
    creations: HashMap<PodId, oneshot::Sender<()>>,
    pub(super) writer: Arc<ClusterWriter>,
    pub(super) running: JoinSet<()>,
    pub(super) cold_starts: ColdStarts,
}

impl CommandSink for DriverTasks {
    fn spec(&mut self, image: &ImageKey) -> Arc<PoolSpec> {
        self.specs.spec(image)
    }

    fn unix_time(&self) -> u64 {
        unix_now()
    }

    fn connect(&mut self, pod: PodId, address: PodAddress) {
        self.cold_starts.reached(pod, StartStep::Ready);
        self.start_connecting(pod, address);
    }

    fn cancel_connect(&mut self, pod: PodId) {
        if let Some(task) = self.connecting.remove(&pod) {
            task.abort();
        }
    }

    fn execute(&mut self, command: PoolCommand, view: &ClusterView) -> Option<PoolEvent> {
        match command {
            PoolCommand::Start { request, pod } => return self.assign(request, pod, view),
            PoolCommand::Fail {
                request,
                failure: RequestFailure::Interrupted(fault),
            } => self.await_reason(request, fault, view),
            PoolCommand::Fail { request, failure } => self.fail(request, failure),
            PoolCommand::Create { pod, image, .. } => return self.create(pod, image),
            // The controller has done it.
            PoolCommand::Check { .. } => (),
            PoolCommand::Delete { pod } => return self.delete(pod, view),
            PoolCommand::Forget { pod } => {
                self.cancel_connect(pod);
                self.connections.remove(&pod);
                self.creations.remove(&pod);
                self.cold_starts.forget(pod);
            }
            PoolCommand::RestoreService { pod } => self.restore_service(pod, view),
            PoolCommand::DeleteService { pod } => {
                if let Some(name) = view.name_of(pod).map(str::to_owned) {
                    let uid = view
                        .service(&name)
                        .map(|service| service.metadata.uid.clone());
                    self.spawn(|writer| async move { writer.delete_service(&name, uid).await });
                }
            }
            PoolCommand::Annotate { pod, reclaim_in } => {
                if let Some(name) = view.name_of(pod).map(str::to_owned) {
                    self.spawn(|writer| async move { writer.annotate(&name, reclaim_in).await });
                }
            }
            PoolCommand::Adopt { pod } => {
                return self.with_pod(pod, view, |writer, view| async move {
                    writer.adopt(pod, view).await;
                });
            }
            PoolCommand::Collect { pod } => {
                return self.with_pod(pod, view, |writer, view| async move {
                    writer.collect(pod, view).await;
                });
            }
            PoolCommand::ProbeUsage { pod } => return self.probe_usage(pod),
            PoolCommand::Release { pod } => {
                return self.with_pod(pod, view, |writer, view| async move {
                    writer.release(view).await;
                });
            }
        }
        None
    }
}

impl DriverTasks {
    pub(super) fn new(specs: PoolSpecs, writer: Arc<ClusterWriter>) -> DriverTasks {
        DriverTasks {
            specs,
            requests: HashMap::new(),
            lost_calls: Vec::new(),
            connections: HashMap::new(),
            connecting: HashMap::new(),
            creations: HashMap::new(),
            writer,
            running: JoinSet::new(),
            cold_starts: ColdStarts::default(),
        }
    }

    pub(super) fn spawn<F>(&mut self, task: impl FnOnce(Arc<ClusterWriter>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.running.spawn(task(Arc::clone(&self.writer)));
    }

    pub(super) fn fail(&self, request: RequestId, failure: RequestFailure) {
        if let Some(PendingRequest { reply, .. }) = self.requests.get(&request) {
            // A caller that has cancelled the request reports that itself.
            let _ = reply.send(Assignment::Fail(failure));
        }
    }

    fn assign(&mut self, request: RequestId, pod: PodId, view: &ClusterView) -> Option<PoolEvent> {
        let pending = self.requests.get_mut(&request)?;
        pending.sent = Some(SentCall::new(pod, view));
        match self.connections.get(&pod) {
            // A caller that has cancelled the request reports that itself.
            Some(PodConnection { client, .. }) => {
                self.cold_starts.reached(pod, StartStep::FirstCall);
                let name = view.name_of(pod);
                let object = name.and_then(|name| view.pod(name));
                let digest =
                    object.and_then(|object| object.metadata.annotation(DIGEST_ANNOTATION));
                let assignment = Assignment::Pod(client.clone(), digest.map(Arc::from));
                drop(pending.reply.send(assignment));
                None
            }
            None => Some(PoolEvent::CallLost {
                request,
                started: FunctionStarted::No,
                fault: not_connected(),
            }),
        }
    }

    fn create(&mut self, pod: PodId, image: ImageKey) -> Option<PoolEvent> {
        self.cold_starts.decided(pod, &image);
        let template = match self.specs.effective_template(image.as_str()) {
            Ok(template) => template,
            Err(reason) => {
                let fault = PodFault {
                    reason: "InvalidTemplate".into(),
                    message: reason.into(),
                    scope: FaultScope::Image,
                };
                return Some(PoolEvent::Failed { pod, fault });
            }
        };
        let spec = self.specs.spec(&image);
        let (stop, stopped) = oneshot::channel();
        self.creations.insert(pod, stop);
        self.spawn(|writer| {
            create_pod::create_pod(writer, pod, image, template, spec.settings, stopped)
        });
        None
    }

    fn delete(&mut self, pod: PodId, view: &ClusterView) -> Option<PoolEvent> {
        if let Some(creation) = self.creations.remove(&pod)
            && creation.send(()).is_ok()
        {
            // The task that creates the pod deletes it and reports the result.
            return None;
        }
        let Some(name) = view.name_of(pod).map(str::to_owned) else {
            return Some(PoolEvent::Gone { pod });
        };
        let uid = view.pod(&name).map(|view| view.metadata.uid.clone());
        self.spawn(|writer| async move { writer.delete_pod(pod, &name, uid).await });
        None
    }

    fn restore_service(&mut self, pod: PodId, view: &ClusterView) {
        let Some(view) = pod_view(pod, view) else {
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

    /// Runs a task on a pod if it exists.
    fn with_pod<F>(
        &mut self,
        pod: PodId,
        view: &ClusterView,
        task: impl FnOnce(Arc<ClusterWriter>, PodView) -> F,
    ) -> Option<PoolEvent>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let Some(view) = pod_view(pod, view) else {
            return Some(PoolEvent::Gone { pod });
        };
        self.spawn(|writer| task(writer, view));
        None
    }
}

fn pod_view(pod: PodId, view: &ClusterView) -> Option<PodView> {
    let name = view.name_of(pod)?;
    view.pod(name).cloned()
}

fn not_connected() -> PodFault {
    PodFault {
        reason: "ConnectionLost".into(),
        message: "there is no connection to the pod".into(),
        scope: FaultScope::Pod,
    }
}
