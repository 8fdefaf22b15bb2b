//! Which replicas live, as their leases tell.
//!
//! A replica lives as long as its lease changes often enough, by the clock of whoever watches: clocks of machines are
//! never compared. A replica that has no lease, or whose lease we see for the first time, has a full period to show itself.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use crate::keys::REPLICA_LABEL;
use crate::state::Moment;
use crate::views::LeaseView;

/// What is known of leases.
#[derive(Debug)]
pub(crate) struct Replicas {
    /// How long a replica lives that does not say how long it does.
    period: Duration,
    leases: HashMap<String, Known>,
    /// Since when those are missed that have no lease.
    missed: HashMap<String, Moment>,
}

#[derive(Debug)]
struct Known {
    name: String,
    uid: String,
    version: String,
    /// What is there whenever it is renewed.
    renewal: (Option<String>, Option<String>),
    /// When it was seen to change.
    changed: Moment,
    period: Duration,
    is_held: bool,
}

/// A lease that nobody needs any more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct DeadLease {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) version: String,
}

impl Replicas {
    pub(crate) fn new(period: Duration) -> Replicas {
        Replicas {
            period,
            leases: HashMap::new(),
            missed: HashMap::new(),
        }
    }

    /// A lease as it is now.
    pub(crate) fn see(&mut self, lease: &LeaseView, now: Moment) {
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
        let known = Known {
            name: lease.metadata.name.clone(),
            uid: lease.metadata.uid.clone(),
            version: lease.metadata.resource_version.clone(),
            renewal,
            changed,
            period: seconds.map_or(self.period, Duration::from_secs),
            is_held: !holder.is_empty(),
        };
        self.missed.remove(replica);
        self.leases.insert(replica.to_owned(), known);
    }

    /// A lease is gone.
    pub(crate) fn forget(&mut self, lease: &LeaseView) {
        if let Some(replica) = lease.metadata.label(REPLICA_LABEL) {
            self.leases.remove(replica);
        }
    }

    /// All leases there are.
    pub(crate) fn see_all(&mut self, leases: &[LeaseView], now: Moment) {
        let names: HashSet<&str> = leases
            .iter()
            .map(|lease| lease.metadata.name.as_str())
            .collect();
        self.leases
            .retain(|_, known| names.contains(known.name.as_str()));
        for lease in leases {
            self.see(lease, now);
        }
    }

    /// What was not seen while nobody could look was not missed: everybody has a full period from now on.
    pub(crate) fn pardon(&mut self, now: Moment) {
        for known in self.leases.values_mut() {
            known.changed = now;
        }
        for since in self.missed.values_mut() {
            *since = now;
        }
    }

    /// Whether a replica lives. Asking for one without a lease begins its period.
    pub(crate) fn lives(&mut self, replica: &str, now: Moment) -> bool {
        match self.leases.get(replica) {
            Some(known) => known.lives(now),
            None => {
                let since = *self.missed.entry(replica.to_owned()).or_insert(now);
                now.since(since) <= self.period
            }
        }
    }

    /// Leases of the dead, besides those who are still named.
    pub(crate) fn dead(&self, named: &HashSet<&str>, now: Moment) -> Vec<DeadLease> {
        let dead = self.leases.iter().filter(|(replica, known)| {
            // Twice the time, so that pods have been seen to be nobody's first.
            !known.lives(now)
                && now.since(known.changed) > known.period * 2
                && !named.contains(replica.as_str())
        });
        let lease = |(_, known): (&String, &Known)| DeadLease {
            name: known.name.clone(),
            uid: known.uid.clone(),
            version: known.version.clone(),
        };
        dead.map(lease).collect()
    }
}

impl Known {
    fn lives(&self, now: Moment) -> bool {
        self.is_held && now.since(self.changed) <= self.period
    }
}

#[cfg(test)]
mod tests;
