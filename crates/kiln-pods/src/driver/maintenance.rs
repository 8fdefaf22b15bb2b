//! Periodic work: ownership of pods, expired leases, changed files and tags.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

use super::Driver;
use super::watch_health::{WatchState, WatchedKind};
use crate::kube::api::ApiError;
use crate::kube::replicas::ExpiredLease;
use crate::pool::{ImageKey, PoolEvent};

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
        if self
            .controller
            .pools
            .next_tick()
            .is_some_and(|tick| tick <= moment)
        {
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
        self.tasks
            .spawn(|writer| async move { writer.refresh_cache_config().await });
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
        let images: Vec<ImageKey> = self.controller.pools.images().cloned().collect();
        for image in images {
            self.tasks
                .spawn(|writer| async move { writer.resolve_again(image).await });
        }
        self.tasks
            .spawn(|writer| async move { writer.check_pull_secret().await });
        self.acknowledge_all();
        self.refresh_specs();
    }

    pub(super) fn set_digest(&mut self, image: &ImageKey, digest: &str) {
        if self.tasks.specs.set_digest(image, digest) {
            self.refresh_specs();
        }
    }

    /// Passes changed specs to the state machine.
    pub(super) fn refresh_specs(&mut self) {
        let images: Vec<ImageKey> = self.controller.pools.images().cloned().collect();
        for (image, spec) in self.tasks.specs.refresh(&images) {
            self.handle_event(PoolEvent::SpecChanged { image, spec });
        }
    }

    /// Reviews the owners of all pods, and deletes expired leases that no pod refers to.
    fn review_owners(&mut self) {
        let now = self.now();
        let expired = self.controller.review_owners(now, &mut self.tasks);
        self.delete_leases(expired);
    }

    pub(super) fn delete_leases(&mut self, expired: Vec<ExpiredLease>) {
        for lease in expired {
            self.tasks
                .spawn(|writer| async move { writer.delete_lease(lease).await });
        }
    }
}

/// Unix time in seconds.
pub(super) fn unix_now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
