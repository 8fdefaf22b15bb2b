//! A replica: its controller, and what it is waiting for.

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::api_server::{ApiServer, PodStage, pod_index, pod_version, replica_name};
use super::api_tasks::ApiTask;
use crate::AddressMode;
use crate::connection::address::PodAddress;
use crate::driver::controller::{CommandSink, PodController};
use crate::kube::cluster_view::{ClusterView, replica_of};
use crate::kube::replicas::ReplicaLeases;
use crate::kube::views::PodView;
use crate::pool::{
    ImageKey, Moment, PodId, PodPools, PoolCommand, PoolEvent, PoolSettings, PoolSpec, RequestId,
};

pub(super) const LEASE_PERIOD: Duration = Duration::from_secs(15);
const SCAN_INTERVAL: Duration = Duration::from_secs(60);

/// The images of a replica that is measured alone.
const IMAGES: usize = 200;

pub(super) struct Replica {
    pub(super) controller: PodController,
    pub(super) actions: Actions,
    pub(super) is_alive: bool,
    pub(super) is_cut_off: bool,
    pub(super) is_stale: bool,
    pub(super) renewed_at: Moment,
    /// When the next tick is scheduled.
    pub(super) wake_at: Option<Moment>,
    pub(super) calls: BTreeMap<RequestId, SimulatedCall>,
    /// Requests to the API server that are under way, and those that wait for them.
    pub(super) requests_running: usize,
    pub(super) requests_waiting: VecDeque<ApiTask>,
    /// When the API server accepts requests again.
    pub(super) resumes: Moment,
}

pub(super) struct SimulatedCall {
    pub(super) caller: usize,
    pub(super) image: usize,
    pub(super) since: Moment,
    pub(super) pod: Option<usize>,
    pub(super) died_with_pod: bool,
}

/// What the controller has decided and the simulation has not carried out yet.
pub(super) struct Actions {
    spec: Arc<PoolSpec>,
    pub(super) now: Moment,
    pub(super) list: Vec<Action>,
}

pub(super) enum Action {
    Connect(PodId),
    Command {
        command: PoolCommand,
        /// The pod in the view of the replica, if it has a name.
        seen: Option<SeenPod>,
    },
}

/// A pod as a replica knows it.
#[derive(Clone, Copy)]
pub(super) struct SeenPod {
    pub(super) index: usize,
    pub(super) version: u64,
    /// The index of the owner in its label.
    pub(super) owner: Option<usize>,
}

impl CommandSink for Actions {
    fn spec(&mut self, _: &ImageKey) -> Arc<PoolSpec> {
        Arc::clone(&self.spec)
    }

    fn unix_time(&self) -> u64 {
        self.now.0.as_secs()
    }

    fn connect(&mut self, pod: PodId, _: PodAddress) {
        self.list.push(Action::Connect(pod));
    }

    fn cancel_connect(&mut self, _: PodId) {}

    fn execute(&mut self, command: PoolCommand, view: &ClusterView) -> Option<PoolEvent> {
        let seen = subject(&command).and_then(|pod| {
            let name = view.name_of(pod)?;
            let index = pod_index(name)?;
            let meta = view.pod(name).map(|pod| &pod.metadata);
            let owner = meta.and_then(replica_of);
            Some(SeenPod {
                index,
                version: meta.map_or(0, |meta| meta.resource_version.parse().unwrap_or(0)),
                owner: owner.and_then(|owner| owner.rsplit('-').next()?.parse().ok()),
            })
        });
        self.list.push(Action::Command { command, seen });
        None
    }
}

/// The pod that a command is about.
fn subject(command: &PoolCommand) -> Option<PodId> {
    match command {
        PoolCommand::Start { pod, .. }
        | PoolCommand::Check { pod }
        | PoolCommand::RestoreService { pod }
        | PoolCommand::DeleteService { pod }
        | PoolCommand::Delete { pod }
        | PoolCommand::Annotate { pod, .. }
        | PoolCommand::Adopt { pod }
        | PoolCommand::Collect { pod }
        | PoolCommand::ProbeUsage { pod }
        | PoolCommand::Release { pod }
        | PoolCommand::Forget { pod } => Some(*pod),
        PoolCommand::Fail { .. } | PoolCommand::Create { .. } => None,
    }
}

impl Replica {
    pub(super) fn new(number: usize, max_pods: NonZeroUsize) -> Replica {
        let name = replica_name(number);
        let settings = PoolSettings {
            ttl: Duration::from_secs(30 * 60),
            max_waitlist: NonZeroUsize::new(2).unwrap_or(NonZeroUsize::MIN),
            max_pods,
            start_timeout: Duration::from_secs(60),
        };
        let version = pod_version();
        Replica {
            controller: PodController::new(
                PodPools::new(SCAN_INTERVAL, LEASE_PERIOD / 2),
                ClusterView::new(AddressMode::PodIp, "fns", &name),
                ReplicaLeases::new(LEASE_PERIOD),
                name,
            ),
            actions: Actions {
                spec: Arc::new(PoolSpec { settings, version }),
                now: Moment::default(),
                list: Vec::new(),
            },
            is_alive: true,
            is_cut_off: false,
            is_stale: false,
            renewed_at: Moment::default(),
            wake_at: None,
            calls: BTreeMap::new(),
            requests_running: 0,
            requests_waiting: VecDeque::new(),
            resumes: Moment::default(),
        }
    }

    /// The desired state of the pods of every image.
    pub(super) fn spec(&self) -> Arc<PoolSpec> {
        Arc::clone(&self.actions.spec)
    }

    /// A replica that has listed `pods` ready pods, the first `owned` of them its own.
    pub(super) fn with_pods(pods: usize, owned: usize) -> Replica {
        let mut server = ApiServer::default();
        for number in 0..pods {
            let owner = usize::from(number >= owned);
            let image = ImageKey::new(image_name(number % IMAGES));
            let index = server.name_pod(image, owner);
            if let Some(pod) = server.pods.get_mut(index) {
                pod.stage = PodStage::Ready;
            }
        }
        let most = NonZeroUsize::new(pods).unwrap_or(NonZeroUsize::MIN);
        let mut replica = Replica::new(0, most);
        replica.list(server.list(), Moment::default());
        let connecting = std::mem::take(&mut replica.actions.list);
        for action in connecting {
            if let Action::Connect(pod) = action {
                let event = PoolEvent::Ready { pod };
                let now = Moment::default();
                replica.controller.handle(now, event, &mut replica.actions);
            }
        }
        replica.actions.list = Vec::new();
        replica
    }

    /// The time of the decisions about calls that find a ready pod.
    pub(super) fn time_warm_calls(mut self, calls: usize) -> Duration {
        let images: Vec<ImageKey> = (0..IMAGES)
            .map(|image| ImageKey::new(image_name(image)))
            .collect();
        let start = Instant::now();
        for (number, image) in (0..calls).zip(images.iter().cycle()) {
            let request = RequestId(number as u64);
            let (image, spec) = (image.clone(), self.spec());
            let begin = PoolEvent::Request {
                request,
                image,
                spec,
            };
            for event in [begin, PoolEvent::Finished { request }] {
                let now = Moment(start.elapsed());
                self.controller.handle(now, event, &mut self.actions);
                self.actions.list.clear();
                std::hint::black_box(self.controller.pools.next_tick());
            }
        }
        start.elapsed()
    }

    /// All pods are listed, and the view is complete.
    pub(super) fn list(&mut self, pods: Vec<PodView>, now: Moment) {
        let notices = self.controller.view.replace_pods(pods);
        let actions = &mut self.actions;
        self.controller.handle_notices(now, notices, actions);
        self.controller.fresh(now, actions);
        self.is_stale = false;
    }
}

pub(super) fn image_name(image: usize) -> String {
    format!("ghcr.io/kptdev/krm-functions-catalog/function-{image}:v1.0.0")
}
