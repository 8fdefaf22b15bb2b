//! Periodic work: ownership of pods, expired leases, changed files and tags.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

use super::Driver;
use super::watch_health::{WatchState, WatchedKind};
use crate::config::pool_specs::version_text;
use crate::kube::api::ApiError;
use crate::kube::cluster_view::{ReportedOwner, replica_of};
use crate::kube::names::{
    DIGEST_ANNOTATION, FUNCTION_ANNOTATION, RECLAIM_AFTER, SETTINGS_VERSION, TEMPLATE_VERSION,
};
use crate::kube::pod_status::is_terminating;
use crate::kube::views::ObjectMeta;
use crate::pool::{FoundPod, ImageKey, Moment, PodId, PodOwner, PodVersion, PoolEvent};

/// Value of the replica label of released pods.
pub(super) const RELEASED_REPLICA: &str = "none";

/// When periodic work is due.
#[derive(Debug)]
pub(super) struct Maintenance {
    /// How often owners are reviewed.
    interval: Duration,
    next: Instant,
    /// How often tags are resolved again.
    scan_interval: Duration,
    next_scan: Instant,
    lease_renewed_at: Instant,
    lease_period: Duration,
    /// Whether the lease of this replica has expired.
    lease_is_expired: bool,
}

impl Maintenance {
    pub(super) fn new(lease_period: Duration, scan_interval: Duration) -> Maintenance {
        let now = Instant::now();
        Maintenance {
            interval: lease_period / 3,
            next: now,
            scan_interval,
            next_scan: now + scan_interval,
            lease_renewed_at: now,
            lease_period,
            lease_is_expired: false,
        }
    }

    pub(super) fn next(&self) -> Instant {
        self.next
    }
}

impl Driver {
    /// Does the work that is due.
    pub(super) fn run_maintenance(&mut self) {
        let now = Instant::now();
        let moment = self.now();
        if self.pools.next_tick().is_some_and(|tick| tick <= moment) {
            self.handle_event(PoolEvent::Tick);
        }
        if now < self.maintenance.next {
            return;
        }
        self.maintenance.next = now + self.maintenance.interval;
        if now.duration_since(self.maintenance.lease_renewed_at) > self.maintenance.lease_period {
            let reason = "the lease of this replica has expired without a renewal".to_owned();
            self.watch_health
                .set(WatchedKind::OwnLease, WatchState::Interrupted(reason));
            if !std::mem::replace(&mut self.maintenance.lease_is_expired, true) {
                // The watches may not have noticed that the connection is gone. They list everything again before the
                // view counts as fresh.
                self.restart_watches.send_replace(());
            }
        }
        self.review_owners();
        self.spawn(|writer| async move { writer.refresh_cache_config().await });
        if now >= self.maintenance.next_scan {
            self.maintenance.next_scan = now + self.maintenance.scan_interval;
            self.scan();
        }
    }

    /// Handles the result of a lease renewal.
    pub(super) fn lease_renewed(&mut self, outcome: Result<(), ApiError>) {
        match outcome {
            Ok(()) => {
                self.maintenance.lease_renewed_at = Instant::now();
                self.maintenance.lease_is_expired = false;
                self.watch_health
                    .set(WatchedKind::OwnLease, WatchState::Synced);
            }
            Err(error) => tracing::warn!("cannot renew the lease of this replica: {error}"),
        }
    }

    /// Resolves tags again and refreshes the specs.
    fn scan(&mut self) {
        let images: Vec<ImageKey> = self.pools.images().cloned().collect();
        for image in images {
            self.spawn(|writer| async move { writer.resolve_again(image).await });
        }
        self.spawn(|writer| async move { writer.check_pull_secret().await });
        self.acknowledge_all();
        self.refresh_specs();
    }

    pub(super) fn set_digest(&mut self, image: &ImageKey, digest: &str) {
        if self.specs.set_digest(image, digest) {
            self.refresh_specs();
        }
    }

    /// Passes changed specs to the state machine.
    pub(super) fn refresh_specs(&mut self) {
        let images: Vec<ImageKey> = self.pools.images().cloned().collect();
        for (image, spec) in self.specs.refresh(&images) {
            self.handle_event(PoolEvent::SpecChanged { image, spec });
        }
    }

    /// Reviews the owners of all pods, and deletes expired leases that no pod refers to.
    pub(super) fn review_owners(&mut self) {
        if !self.watch_health.is_synced() || self.drained.is_some() {
            return;
        }
        for name in self.view.unassigned() {
            self.review_unassigned_pod(&name);
        }
        for pod in self
            .view
            .orphans()
            .into_iter()
            .chain(self.view.taken_over())
        {
            self.review_owner(pod);
        }
        let now = self.now();
        let mut named = self.view.replicas();
        named.insert(&self.writer.replica);
        let expired = self.replicas.expired(&named, now);
        for lease in expired {
            self.spawn(|writer| async move { writer.delete_lease(lease).await });
        }
    }

    /// Assigns a pod id to a pod that belongs to this replica or is an orphan.
    pub(super) fn review_unassigned_pod(&mut self, name: &str) {
        if !self.watch_health.is_synced() || self.drained.is_some() {
            return;
        }
        let now = self.now();
        let Some(pod) = self.view.pod(name).filter(|pod| !is_terminating(pod)) else {
            return;
        };
        let (Some(replica), Some(image)) = (
            replica_of(&pod.metadata).map(str::to_owned),
            pod.metadata
                .annotation(FUNCTION_ANNOTATION)
                .map(ImageKey::new),
        ) else {
            // Without these keys the pod was not created by a kiln replica. It may be in use.
            return;
        };
        let version = version_of(&pod.metadata);
        let reclaim_in = reclaim_in(&pod.metadata);
        let (owner, reported_owner) = if replica == *self.writer.replica {
            (PodOwner::Ours, ReportedOwner::Ours)
        } else if self.is_alive(&replica, now) {
            return;
        } else if replica == RELEASED_REPLICA {
            (PodOwner::Released, ReportedOwner::Orphaned(replica))
        } else {
            (PodOwner::LeaseExpired, ReportedOwner::Orphaned(replica))
        };
        let pod = self.pools.next_pod_id();
        self.view.assign(pod, name, reported_owner);
        let spec = self.specs.spec(&image);
        self.handle_event(PoolEvent::Found(FoundPod {
            pod,
            image,
            spec,
            version,
            owner,
            reclaim_in,
        }));
        let notices = self.view.report_again(pod);
        self.handle_notices(notices);
    }

    /// Reports a change of a pod's owner to the state machine.
    pub(super) fn review_owner(&mut self, pod: PodId) {
        let now = self.now();
        let view = self.view.name_of(pod).and_then(|name| self.view.pod(name));
        let replica = view
            .and_then(|view| replica_of(&view.metadata))
            .map(str::to_owned);
        let (Some(replica), Some(owner)) = (replica, self.view.owner(pod).cloned()) else {
            return;
        };
        if replica == *self.writer.replica {
            // The task that adopts the pod reports this.
            return;
        }
        if self.is_alive(&replica, now) {
            self.handle_event(PoolEvent::Disowned { pod });
        } else if matches!(owner, ReportedOwner::Orphaned(before) if before != replica) {
            self.view.set_owner(pod, ReportedOwner::Orphaned(replica));
        }
    }

    fn is_alive(&mut self, replica: &str, now: Moment) -> bool {
        replica != RELEASED_REPLICA && self.replicas.is_alive(replica, now)
    }
}

fn version_of(meta: &ObjectMeta) -> PodVersion {
    let of = |key| meta.annotation(key).unwrap_or_default();
    PodVersion {
        template: version_text(of(TEMPLATE_VERSION), of(SETTINGS_VERSION)),
        digest: meta.annotation(DIGEST_ANNOTATION).map(Arc::from),
    }
}

/// The remaining time to live according to the reclaim annotation.
pub(super) fn reclaim_in(meta: &ObjectMeta) -> Option<Duration> {
    let after: u64 = meta.annotation(RECLAIM_AFTER)?.parse().ok()?;
    Some(Duration::from_secs(after.saturating_sub(unix_now())))
}

/// Unix time in seconds.
pub(super) fn unix_now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
