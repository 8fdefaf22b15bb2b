//! Which replicas are alive, according to their leases.
//!
//! A replica is alive as long as its lease changes within its period, measured by the local clock: clocks of different
//! machines are never compared. A replica without a lease, or with a lease seen for the first time, has a full period
//! to renew it.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use crate::kube::names::REPLICA_LABEL;
use crate::kube::views::LeaseView;
use crate::pool::{AdoptionTurn, Moment};

#[derive(Debug)]
pub(crate) struct ReplicaLeases {
    /// The period of leases that do not specify one.
    period: Duration,
    leases: HashMap<String, ObservedLease>,
    /// When replicas without a lease were first looked up.
    without_lease_since: HashMap<String, Moment>,
}

#[derive(Debug)]
struct ObservedLease {
    name: String,
    uid: String,
    version: String,
    /// The fields that change with every renewal.
    renewal: (Option<String>, Option<String>),
    /// When the lease last changed.
    changed: Moment,
    period: Duration,
    is_held: bool,
}

/// An expired lease that can be deleted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ExpiredLease {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) version: String,
}

impl ReplicaLeases {
    pub(crate) fn new(period: Duration) -> ReplicaLeases {
        ReplicaLeases {
            period,
            leases: HashMap::new(),
            without_lease_since: HashMap::new(),
        }
    }

    /// Adds or updates a lease.
    pub(crate) fn update(&mut self, lease: &LeaseView, now: Moment) {
        let Some(replica) = lease.metadata.label(REPLICA_LABEL) else {
            return;
        };
        let renewal = (
            lease.spec.renew_time.clone(),
            lease.spec.holder_identity.clone(),
        );
        let holder = lease.spec.holder_identity.as_deref().unwrap_or_default();
        let seconds = lease.spec.lease_duration_seconds;
        let before = self.leases.get(replica);
        let changed = match before {
            Some(before) if before.renewal == renewal && before.uid == lease.metadata.uid => {
                before.changed
            }
            _ => now,
        };
        let known = ObservedLease {
            name: lease.metadata.name.clone(),
            uid: lease.metadata.uid.clone(),
            version: lease.metadata.resource_version.clone(),
            renewal,
            changed,
            period: seconds.map_or(self.period, Duration::from_secs),
            is_held: !holder.is_empty(),
        };
        self.without_lease_since.remove(replica);
        self.leases.insert(replica.to_owned(), known);
    }

    pub(crate) fn forget(&mut self, lease: &LeaseView) {
        if let Some(replica) = lease.metadata.label(REPLICA_LABEL) {
            self.leases.remove(replica);
        }
    }

    pub(crate) fn replace(&mut self, leases: &[LeaseView], now: Moment) {
        let names: HashSet<&str> = leases
            .iter()
            .map(|lease| lease.metadata.name.as_str())
            .collect();
        self.leases
            .retain(|_, known| names.contains(known.name.as_str()));
        for lease in leases {
            self.update(lease, now);
        }
    }

    /// Restarts all periods, because renewals may have been missed while the watches were down.
    pub(crate) fn restart_periods(&mut self, now: Moment) {
        for known in self.leases.values_mut() {
            known.changed = now;
        }
        for since in self.without_lease_since.values_mut() {
            *since = now;
        }
    }

    /// The leases that were observed: replica, whether it is alive, time since the last change, and period.
    pub(crate) fn observed(
        &self,
        now: Moment,
    ) -> impl Iterator<Item = (&str, bool, Duration, Duration)> {
        self.leases.iter().map(move |(replica, lease)| {
            let age = now.since(lease.changed);
            (replica.as_str(), lease.is_alive(now), age, lease.period)
        })
    }

    /// Whether a replica is alive. The first call for a replica without a lease starts its period.
    pub(crate) fn is_alive(&mut self, replica: &str, now: Moment) -> bool {
        match self.leases.get(replica) {
            Some(known) => known.is_alive(now),
            None => {
                let since = *self
                    .without_lease_since
                    .entry(replica.to_owned())
                    .or_insert(now);
                now.since(since) <= self.period
            }
        }
    }

    /// The place of the replica `own` among the live ones in the order in which they adopt the pod `name`.
    pub(crate) fn adoption_turn(&self, own: &str, name: &str, now: Moment) -> AdoptionTurn {
        let ours = rank(own, name);
        let mut turn = AdoptionTurn {
            before: 0,
            replicas: 1,
        };
        for (replica, lease) in &self.leases {
            if replica != own && lease.is_alive(now) {
                turn.replicas += 1;
                turn.before += u32::from(rank(replica, name) < ours);
            }
        }
        turn
    }

    /// The expired leases of replicas that are not in `named`.
    pub(crate) fn expired(&self, named: &HashSet<&str>, now: Moment) -> Vec<ExpiredLease> {
        let expired = self.leases.iter().filter(|(replica, known)| {
            // Twice the period, so that the pods of the replica have become orphans first.
            !known.is_alive(now)
                && now.since(known.changed) > known.period * 2
                && !named.contains(replica.as_str())
        });
        let lease = |(_, known): (&String, &ObservedLease)| ExpiredLease {
            name: known.name.clone(),
            uid: known.uid.clone(),
            version: known.version.clone(),
        };
        expired.map(lease).collect()
    }
}

/// A number that differs for each replica and pod, and that every replica computes in the same way: FNV-1a, and a last
/// step that lets every bit depend on the last letters, by which replicas differ.
fn rank(replica: &str, pod: &str) -> u64 {
    let bytes = pod.bytes().chain([0]).chain(replica.bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd)
}

impl ObservedLease {
    fn is_alive(&self, now: Moment) -> bool {
        self.is_held && now.since(self.changed) <= self.period
    }
}

#[cfg(test)]
mod tests;
