//! Which replicas are alive, according to their leases.
//!
//! A replica is alive as long as its lease changes within its period, measured by the local clock: clocks of different
//! machines are never compared. A replica without a lease, or with a lease seen for the first time, has a full period
//! to renew it.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use crate::kube::names::REPLICA_LABEL;
use crate::kube::views::LeaseView;
use crate::pool::Moment;

/// The leases of all replicas.
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

    /// Replaces all leases.
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

impl ObservedLease {
    fn is_alive(&self, now: Moment) -> bool {
        self.is_held && now.since(self.changed) <= self.period
    }
}

#[cfg(test)]
mod tests;
