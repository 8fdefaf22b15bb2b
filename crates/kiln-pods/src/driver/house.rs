//! What is done from time to time: whose pods are whose, whose lease is over, which files have changed.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

use super::Driver;
use super::sight::{Kind, View};
use crate::api::ApiError;
use crate::keys::{
    DIGEST_ANNOTATION, FUNCTION_ANNOTATION, RECLAIM_AFTER, SETTINGS_VERSION, TEMPLATE_VERSION,
};
use crate::plans::version_text;
use crate::state::{Event, Found, ImageKey, Moment, Owner, PodId, Version};
use crate::stuck::is_terminating;
use crate::views::Meta;
use crate::world::{Holder, replica_of};

/// The replica of pods that were given back.
pub(super) const RELEASED: &str = "none";

/// When what was done last.
#[derive(Debug)]
pub(super) struct House {
    /// How often replicas are looked at.
    every: Duration,
    next: Instant,
    /// How often registries and files are.
    scan_every: Duration,
    next_scan: Instant,
    /// When our lease was last renewed.
    renewed: Instant,
    period: Duration,
    /// Whether that is too long ago.
    is_cut_off: bool,
}

impl House {
    pub(super) fn new(period: Duration, scan_interval: Duration) -> House {
        let now = Instant::now();
        House {
            every: period / 3,
            next: now,
            scan_every: scan_interval,
            next_scan: now + scan_interval,
            renewed: now,
            period,
            is_cut_off: false,
        }
    }

    /// When there is something to do again.
    pub(super) fn next(&self) -> Instant {
        self.next
    }
}

impl Driver {
    /// Does what is due.
    pub(super) fn keep_house(&mut self) {
        let now = Instant::now();
        let moment = self.now();
        if self.pool.next_tick().is_some_and(|tick| tick <= moment) {
            self.tell(Event::Tick);
        }
        if now < self.house.next {
            return;
        }
        self.house.next = now + self.house.every;
        if now.duration_since(self.house.renewed) > self.house.period {
            let reason = "our lease could not be renewed for too long".to_owned();
            self.sight.set(Kind::OwnLease, View::Blind(reason));
            if !std::mem::replace(&mut self.house.is_cut_off, true) {
                // Watches may not have noticed. What they know counts again when they have listed everything.
                self.anew.send_replace(());
            }
        }
        self.judge_all();
        self.spawn(|hands| async move { hands.refresh_cache_config().await });
        if now >= self.house.next_scan {
            self.house.next_scan = now + self.house.scan_every;
            self.scan();
        }
    }

    /// Our lease was renewed, or not.
    pub(super) fn see_renewal(&mut self, outcome: Result<(), ApiError>) {
        match outcome {
            Ok(()) => {
                self.house.renewed = Instant::now();
                self.house.is_cut_off = false;
                self.sight.set(Kind::OwnLease, View::Clear);
            }
            Err(error) => tracing::warn!("our lease could not be renewed: {error}"),
        }
    }

    /// Asks anew what tags stand for, and makes new plans.
    fn scan(&mut self) {
        let images: Vec<ImageKey> = self.pool.images().cloned().collect();
        for image in images {
            self.spawn(|hands| async move { hands.resolve_again(image).await });
        }
        self.spawn(|hands| async move { hands.check_pull_secret().await });
        self.acknowledge_again();
        self.renew_plans();
    }

    pub(super) fn learn_digest(&mut self, image: &ImageKey, digest: &str) {
        if self.plans.set_digest(image, digest) {
            self.renew_plans();
        }
    }

    /// Tells the machine of plans that have changed.
    pub(super) fn renew_plans(&mut self) {
        let images: Vec<ImageKey> = self.pool.images().cloned().collect();
        for (image, plan) in self.plans.renew(&images) {
            self.tell(Event::Planned { image, plan });
        }
    }

    /// Looks whose everything is that is not ours.
    pub(super) fn judge_all(&mut self) {
        if !self.sight.is_clear() || self.ending.is_some() {
            return;
        }
        for name in self.world.strangers() {
            self.judge_stranger(&name);
        }
        for pod in self.world.orphans().into_iter().chain(self.world.moved()) {
            self.judge_moved(pod);
        }
        let now = self.now();
        let mut named = self.world.replicas();
        named.insert(&self.hands.me);
        let dead = self.replicas.dead(&named, now);
        for lease in dead {
            self.spawn(|hands| async move { hands.delete_lease(lease).await });
        }
    }

    /// A pod without a number: ours, nobody's, or none of our business.
    pub(super) fn judge_stranger(&mut self, name: &str) {
        if !self.sight.is_clear() || self.ending.is_some() {
            return;
        }
        let now = self.now();
        let Some(pod) = self.world.pod(name).filter(|pod| !is_terminating(pod)) else {
            return;
        };
        let (Some(replica), Some(image)) = (
            replica_of(&pod.metadata).map(str::to_owned),
            pod.metadata
                .annotation(FUNCTION_ANNOTATION)
                .map(ImageKey::new),
        ) else {
            // A pod of somebody who does not say who they are: it may well be in use.
            return;
        };
        let version = version_of(&pod.metadata);
        let reclaim_in = reclaim_in(&pod.metadata);
        let (owner, holder) = if replica == *self.hands.me {
            (Owner::Ours, Holder::Us)
        } else if self.is_alive(&replica, now) {
            return;
        } else if replica == RELEASED {
            (Owner::GivenBack, Holder::Nobody(replica))
        } else {
            (Owner::Nobody, Holder::Nobody(replica))
        };
        let pod = self.pool.name_found_pod();
        self.world.assign(pod, name, holder);
        let plan = self.plans.plan(&image);
        self.tell(Event::Found(Found {
            pod,
            image,
            plan,
            version,
            owner,
            reclaim_in,
        }));
        let notices = self.world.look_again(pod);
        self.follow(notices);
    }

    /// A pod that may have another holder than was said.
    pub(super) fn judge_moved(&mut self, pod: PodId) {
        let now = self.now();
        let view = self
            .world
            .name_of(pod)
            .and_then(|name| self.world.pod(name));
        let replica = view
            .and_then(|view| replica_of(&view.metadata))
            .map(str::to_owned);
        let (Some(replica), Some(holder)) = (replica, self.world.holder(pod).cloned()) else {
            return;
        };
        if replica == *self.hands.me {
            // Whoever adopts it says so.
            return;
        }
        if self.is_alive(&replica, now) {
            self.tell(Event::Disowned { pod });
        } else if matches!(holder, Holder::Nobody(before) if before != replica) {
            self.world.set_holder(pod, Holder::Nobody(replica));
        }
    }

    fn is_alive(&mut self, replica: &str, now: Moment) -> bool {
        replica != RELEASED && self.replicas.lives(replica, now)
    }
}

fn version_of(meta: &Meta) -> Version {
    let of = |key| meta.annotation(key).unwrap_or_default();
    Version {
        template: version_text(of(TEMPLATE_VERSION), of(SETTINGS_VERSION)),
        digest: meta.annotation(DIGEST_ANNOTATION).map(Arc::from),
    }
}

/// How long a pod may stay by its annotation.
pub(super) fn reclaim_in(meta: &Meta) -> Option<Duration> {
    let after: u64 = meta.annotation(RECLAIM_AFTER)?.parse().ok()?;
    Some(Duration::from_secs(after.saturating_sub(unix_now())))
}

/// Seconds since 1970.
pub(super) fn unix_now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
