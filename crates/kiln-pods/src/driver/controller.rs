//! The decisions of the driver: pod pools, cluster view and leases in one value.
//!
//! It has no tasks, no connections and no clock, so a simulation can run many of them. What it decides goes to a
//! [`CommandSink`]; the results come back as events.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::config::pool_specs::version_text;
use crate::connection::address::PodAddress;
use crate::kube::cluster_view::{ClusterView, Notice, ReportedOwner, replica_of};
use crate::kube::names::{
    DIGEST_ANNOTATION, FUNCTION_ANNOTATION, RECLAIM_AFTER, SETTINGS_VERSION, TEMPLATE_VERSION,
};
use crate::kube::pod_status::is_terminating;
use crate::kube::replicas::{ExpiredLease, ReplicaLeases};
use crate::kube::views::ObjectMeta;
use crate::pool::{
    FoundPod, ImageKey, Moment, PodId, PodOwner, PodPools, PodVersion, PoolCommand, PoolEvent,
    PoolSpec,
};

/// Value of the replica label of released pods.
pub(crate) const RELEASED_REPLICA: &str = "none";

/// Carries out what the controller decides.
pub(crate) trait CommandSink {
    /// The desired state of the pods of an image.
    fn spec(&mut self, image: &ImageKey) -> Arc<PoolSpec>;

    /// Unix time in seconds, which annotations have.
    fn unix_time(&self) -> u64;

    /// Connects to a pod that has become reachable. [`PoolEvent::Ready`] or [`PoolEvent::Failed`] follows.
    fn connect(&mut self, pod: PodId, address: PodAddress);

    fn cancel_connect(&mut self, pod: PodId);

    /// Begins to execute a command. Returns its result if that is known at once.
    fn execute(&mut self, command: PoolCommand, view: &ClusterView) -> Option<PoolEvent>;
}

/// The pools of a replica and what it knows about the cluster.
pub(crate) struct PodController {
    pub(crate) pools: PodPools,
    pub(crate) view: ClusterView,
    pub(crate) replicas: ReplicaLeases,
    /// The name of this replica, as a label value.
    replica: String,
    /// Whether the view is complete. Before that, no pod is judged by its owner.
    is_synced: bool,
    is_draining: bool,
}

impl PodController {
    pub(crate) fn new(
        pools: PodPools,
        view: ClusterView,
        replicas: ReplicaLeases,
        replica: String,
    ) -> PodController {
        PodController {
            pools,
            view,
            replicas,
            replica,
            is_synced: false,
            is_draining: false,
        }
    }

    /// The name of this replica, as a label value.
    pub(crate) fn replica(&self) -> &str {
        &self.replica
    }

    /// Passes an event to the state machine, and its commands to `sink`.
    pub(crate) fn handle(&mut self, now: Moment, event: PoolEvent, sink: &mut impl CommandSink) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            if let PoolEvent::Failed { pod, fault } = &event {
                let name = self.view.name_of(*pod).unwrap_or("(unnamed)");
                let image = self.pools.image_of(*pod).map(ImageKey::as_str);
                tracing::warn!(pod = name, image, "pod failed: {fault}");
            }
            if let PoolEvent::Unready { pod } | PoolEvent::Gone { pod } = &event {
                sink.cancel_connect(*pod);
            }
            for command in self.pools.handle(now, event) {
                match command {
                    PoolCommand::Check { pod } => {
                        for notice in self.view.report_again(pod) {
                            match notice {
                                Notice::Event(event) => events.push_back(event),
                                other => self.handle_notices(now, vec![other], sink),
                            }
                        }
                    }
                    PoolCommand::Forget { pod } => {
                        events.extend(sink.execute(command, &self.view));
                        self.view.forget(pod);
                    }
                    command => events.extend(sink.execute(command, &self.view)),
                }
            }
        }
    }

    /// Reacts to changes of the cluster view.
    pub(crate) fn handle_notices(
        &mut self,
        now: Moment,
        notices: Vec<Notice>,
        sink: &mut impl CommandSink,
    ) {
        for notice in notices {
            match notice {
                Notice::Event(event) => self.handle(now, event, sink),
                Notice::Reachable(pod, address) => sink.connect(pod, address),
                Notice::Unassigned(name) => self.review_unassigned_pod(now, &name, sink),
                Notice::OwnerChanged(pod) => self.review_owner(now, pod, sink),
            }
        }
    }

    /// This replica has adopted a pod.
    pub(crate) fn adopted(&mut self, now: Moment, pod: PodId, sink: &mut impl CommandSink) {
        self.view.set_owner(pod, ReportedOwner::Ours);
        self.handle(now, PoolEvent::Adopted { pod }, sink);
        let notices = self.view.report_again(pod);
        self.handle_notices(now, notices, sink);
    }

    /// The watches are up, and everything has been listed. Returns expired leases that no pod refers to.
    pub(crate) fn fresh(&mut self, now: Moment, sink: &mut impl CommandSink) -> Vec<ExpiredLease> {
        self.is_synced = true;
        self.replicas.restart_periods(now);
        // First of all, because other replicas may have adopted pods in the meantime.
        for pod in self.view.taken_over() {
            self.review_owner(now, pod, sink);
        }
        self.handle(now, PoolEvent::Fresh, sink);
        self.review_owners(now, sink)
    }

    /// The view may be outdated.
    pub(crate) fn stale(&mut self, now: Moment, sink: &mut impl CommandSink) {
        self.is_synced = false;
        self.handle(now, PoolEvent::Stale, sink);
    }

    /// The replica is shutting down.
    pub(crate) fn drain(&mut self, now: Moment, sink: &mut impl CommandSink) {
        self.is_draining = true;
        self.handle(now, PoolEvent::Drain, sink);
    }

    /// Reviews the owners of all pods. Returns expired leases that no pod refers to.
    pub(crate) fn review_owners(
        &mut self,
        now: Moment,
        sink: &mut impl CommandSink,
    ) -> Vec<ExpiredLease> {
        if !self.may_review() {
            return Vec::new();
        }
        let (own, replicas) = (&self.replica, &mut self.replicas);
        let is_of_interest = |replica: &str| replica == own || !is_alive(replicas, replica, now);
        for name in self.view.unassigned(is_of_interest) {
            self.review_unassigned_pod(now, &name, sink);
        }
        for pod in self
            .view
            .orphans()
            .into_iter()
            .chain(self.view.taken_over())
        {
            self.review_owner(now, pod, sink);
        }
        let mut named = self.view.replicas();
        named.insert(&self.replica);
        self.replicas.expired(&named, now)
    }

    /// Assigns a pod id to a pod that belongs to this replica or is an orphan.
    fn review_unassigned_pod(&mut self, now: Moment, name: &str, sink: &mut impl CommandSink) {
        if !self.may_review() {
            return;
        }
        let Some(pod) = self.view.pod(name).filter(|pod| !is_terminating(pod)) else {
            return;
        };
        let (Some(replica), Some(image)) = (
            replica_of(&pod.metadata),
            pod.metadata.annotation(FUNCTION_ANNOTATION),
        ) else {
            // Without these keys the pod was not created by a kiln replica. It may be in use.
            return;
        };
        let (owner, reported_owner) = if replica == self.replica {
            (PodOwner::Ours, ReportedOwner::Ours)
        } else if is_alive(&mut self.replicas, replica, now) {
            return;
        } else {
            let owner = match replica {
                RELEASED_REPLICA => PodOwner::Released,
                _ => PodOwner::LeaseExpired,
            };
            (owner, ReportedOwner::Orphaned(replica.to_owned()))
        };
        let image = ImageKey::new(image);
        let version = version_of(&pod.metadata);
        let reclaim_in = reclaim_in(&pod.metadata, sink.unix_time());
        let turn = self.replicas.adoption_turn(&self.replica, name, now);
        let pod = self.pools.next_pod_id();
        self.view.assign(pod, name, reported_owner);
        let spec = sink.spec(&image);
        let found = PoolEvent::Found(FoundPod {
            pod,
            image,
            spec,
            version,
            owner,
            reclaim_in,
            turn,
        });
        self.handle(now, found, sink);
        let notices = self.view.report_again(pod);
        self.handle_notices(now, notices, sink);
    }

    /// Reports a change of a pod's owner to the state machine.
    fn review_owner(&mut self, now: Moment, pod: PodId, sink: &mut impl CommandSink) {
        let view = self.view.name_of(pod).and_then(|name| self.view.pod(name));
        let replica = view
            .and_then(|view| replica_of(&view.metadata))
            .map(str::to_owned);
        let (Some(replica), Some(owner)) = (replica, self.view.owner(pod).cloned()) else {
            return;
        };
        if replica == self.replica {
            // The task that adopts the pod reports this.
            return;
        }
        if is_alive(&mut self.replicas, &replica, now) {
            self.handle(now, PoolEvent::Disowned { pod }, sink);
        } else if matches!(owner, ReportedOwner::Orphaned(before) if before != replica) {
            self.view.set_owner(pod, ReportedOwner::Orphaned(replica));
        }
    }

    fn may_review(&self) -> bool {
        self.is_synced && !self.is_draining
    }
}

fn is_alive(replicas: &mut ReplicaLeases, replica: &str, now: Moment) -> bool {
    replica != RELEASED_REPLICA && replicas.is_alive(replica, now)
}

fn version_of(meta: &ObjectMeta) -> PodVersion {
    let of = |key| meta.annotation(key).unwrap_or_default();
    PodVersion {
        template: version_text(of(TEMPLATE_VERSION), of(SETTINGS_VERSION)),
        digest: meta.annotation(DIGEST_ANNOTATION).map(Arc::from),
    }
}

/// The remaining time to live according to the reclaim annotation.
pub(super) fn reclaim_in(meta: &ObjectMeta, unix_time: u64) -> Option<Duration> {
    let after: u64 = meta.annotation(RECLAIM_AFTER)?.parse().ok()?;
    Some(Duration::from_secs(after.saturating_sub(unix_time)))
}
