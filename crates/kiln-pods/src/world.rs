//! What is known of pods, services and endpoints, put together.
//!
//! Watches of different kinds tell at different times; here it is told once, when it is so: that a pod can be reached, that
//! it will not do, that it is gone. Pods have names here and numbers in [`state`](crate::state); this is where one becomes
//! the other.

mod condition;

use std::collections::{HashMap, HashSet};

use crate::address::{AddressMode, Place};
use crate::keys::REPLICA_LABEL;
use crate::state::{Event, PodId};
use crate::stuck::is_terminating;
use crate::views::{EndpointSliceView, Meta, PodView, ServiceView};
use condition::Condition;

/// Everything that is known, by the name that a pod shares with its service.
#[derive(Debug)]
pub(crate) struct World {
    mode: AddressMode,
    namespace: String,
    /// Our own name as pods carry it.
    me: String,
    entries: HashMap<String, Entry>,
    names: HashMap<PodId, String>,
}

/// What is known of one pod.
#[derive(Debug, Default)]
struct Entry {
    id: Option<PodId>,
    holder: Holder,
    pod: Option<PodView>,
    service: Option<ServiceView>,
    /// Ready addresses by slice.
    endpoints: HashMap<String, Vec<String>>,
    told: Condition,
    /// Where it was reachable last, since its containers have been ready and its service has been there.
    reached: Option<String>,
}

/// Whose a pod is, as far as the machine has been told.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum Holder {
    /// It has been told nothing.
    #[default]
    Unsaid,
    /// Ours.
    Us,
    /// Nobody's, after a replica of this name.
    Nobody(String),
}

/// What follows from something that was seen.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Notice {
    /// The machine should know.
    Tell(Event),
    /// A pod takes calls at an address: connect.
    Reachable(PodId, Place),
    /// A pod is there that has no number.
    Stranger(String),
    /// A pod that has a number has another holder than it was said to have.
    Moved(PodId),
}

impl World {
    pub(crate) fn new(mode: AddressMode, namespace: &str, me: &str) -> World {
        World {
            mode,
            me: me.to_owned(),
            namespace: namespace.to_owned(),
            entries: HashMap::new(),
            names: HashMap::new(),
        }
    }

    /// A pod of ours is about to be created under a name.
    pub(crate) fn name(&mut self, id: PodId, name: &str) {
        self.assign(id, name, Holder::Us);
    }

    /// A pod has a number from now on.
    pub(crate) fn assign(&mut self, id: PodId, name: &str, holder: Holder) {
        self.names.insert(id, name.to_owned());
        let entry = self.entries.entry(name.to_owned()).or_default();
        entry.id = Some(id);
        entry.holder = holder;
        entry.told = Condition::default();
        entry.reached = None;
    }

    /// Whose a pod is from now on.
    pub(crate) fn set_holder(&mut self, id: PodId, holder: Holder) {
        if let Some(entry) = self
            .names
            .get(&id)
            .and_then(|name| self.entries.get_mut(name))
        {
            entry.holder = holder;
        }
    }

    /// A number is not used any more. What is known of the pod remains, if it is there.
    pub(crate) fn forget(&mut self, id: PodId) {
        let Some(name) = self.names.remove(&id) else {
            return;
        };
        if let Some(entry) = self.entries.get_mut(&name)
            && entry.id == Some(id)
        {
            entry.id = None;
            entry.holder = Holder::Unsaid;
            entry.told = Condition::default();
        }
        self.drop_if_empty(&name);
    }

    /// The name of a pod.
    pub(crate) fn name_of(&self, id: PodId) -> Option<&str> {
        self.names.get(&id).map(String::as_str)
    }

    /// A pod as it was seen last.
    pub(crate) fn pod(&self, name: &str) -> Option<&PodView> {
        self.entries.get(name)?.pod.as_ref()
    }

    /// The number of a pod that was said to be ours.
    pub(crate) fn ours(&self, name: &str) -> Option<PodId> {
        let entry = self.entries.get(name)?;
        entry.id.filter(|_| entry.holder == Holder::Us)
    }

    /// Whose a pod was said to be.
    pub(crate) fn holder(&self, id: PodId) -> Option<&Holder> {
        let entry = self.entries.get(self.names.get(&id)?)?;
        Some(&entry.holder)
    }

    /// A service as it was seen last.
    pub(crate) fn service(&self, name: &str) -> Option<&ServiceView> {
        self.entries.get(name)?.service.as_ref()
    }

    /// The pods that have no number.
    pub(crate) fn strangers(&self) -> Vec<String> {
        let strangers = self
            .entries
            .iter()
            .filter(|(_, entry)| entry.id.is_none() && entry.pod.is_some());
        strangers.map(|(name, _)| name.clone()).collect()
    }

    /// The pods that were said to be nobody's.
    pub(crate) fn orphans(&self) -> Vec<PodId> {
        let entries = self.entries.values();
        let orphans = entries.filter(|entry| matches!(entry.holder, Holder::Nobody(_)));
        orphans.filter_map(|entry| entry.id).collect()
    }

    /// The pods that were said to be ours and name another replica.
    pub(crate) fn moved(&self) -> Vec<PodId> {
        let moved = self.entries.values().filter(|entry| {
            let replica = entry.pod.as_ref().and_then(|pod| replica_of(&pod.metadata));
            entry.holder == Holder::Us && replica.is_some_and(|replica| replica != self.me)
        });
        moved.filter_map(|entry| entry.id).collect()
    }

    /// All replicas that pods and services name.
    pub(crate) fn replicas(&self) -> HashSet<&str> {
        let metas = self.entries.values().flat_map(|entry| {
            let pod = entry.pod.as_ref().map(|pod| &pod.metadata);
            let service = entry.service.as_ref().map(|service| &service.metadata);
            pod.into_iter().chain(service)
        });
        metas.filter_map(replica_of).collect()
    }

    /// Everything that is to be said of a pod, even if it was said before: also that it lacks a service, as when somebody was
    /// killed between making the one and the other.
    pub(crate) fn look_again(&mut self, id: PodId) -> Vec<Notice> {
        let Some(name) = self.names.get(&id).cloned() else {
            return Vec::new();
        };
        let mut notices = Vec::new();
        if let Some(entry) = self.entries.get_mut(&name) {
            if entry.told != Condition::Unseen {
                entry.told = Condition::Starting;
            }
            if self.mode != AddressMode::PodIp && entry.lacks_service() {
                notices.push(Notice::Tell(Event::ServiceGone { pod: id }));
            }
        }
        notices.extend(self.look(&name));
        notices
    }

    pub(crate) fn see_pod(&mut self, pod: PodView) -> Vec<Notice> {
        let name = pod.metadata.name.clone();
        self.entries.entry(name.clone()).or_default().pod = Some(pod);
        self.look(&name)
    }

    pub(crate) fn lose_pod(&mut self, name: &str) -> Vec<Notice> {
        if let Some(entry) = self.entries.get_mut(name) {
            entry.pod = None;
        }
        let notices = self.look(name);
        self.drop_if_empty(name);
        notices
    }

    /// All pods there are.
    pub(crate) fn see_pods(&mut self, pods: Vec<PodView>) -> Vec<Notice> {
        let there: HashSet<String> = pods.iter().map(|pod| pod.metadata.name.clone()).collect();
        let lost = self
            .entries
            .iter()
            .filter(|(name, entry)| entry.pod.is_some() && !there.contains(*name));
        let lost: Vec<String> = lost.map(|(name, _)| name.clone()).collect();
        let mut notices: Vec<Notice> = lost.iter().flat_map(|name| self.lose_pod(name)).collect();
        notices.extend(pods.into_iter().flat_map(|pod| self.see_pod(pod)));
        notices
    }

    pub(crate) fn see_service(&mut self, service: ServiceView) -> Vec<Notice> {
        let name = service.metadata.name.clone();
        self.entries.entry(name.clone()).or_default().service = Some(service);
        self.look(&name)
    }

    pub(crate) fn lose_service(&mut self, name: &str) -> Vec<Notice> {
        let Some(entry) = self.entries.get_mut(name) else {
            return Vec::new();
        };
        let was_there = entry.service.take().is_some();
        let id = entry.id.filter(|_| was_there && entry.pod.is_some());
        let mut notices: Vec<Notice> = id
            .map(|pod| Notice::Tell(Event::ServiceGone { pod }))
            .into_iter()
            .collect();
        notices.extend(self.look(name));
        self.drop_if_empty(name);
        notices
    }

    /// All services there are.
    pub(crate) fn see_services(&mut self, services: Vec<ServiceView>) -> Vec<Notice> {
        let there: HashSet<String> = services
            .iter()
            .map(|service| service.metadata.name.clone())
            .collect();
        let lost = self
            .entries
            .iter()
            .filter(|(name, entry)| entry.service.is_some() && !there.contains(*name));
        let lost: Vec<String> = lost.map(|(name, _)| name.clone()).collect();
        let mut notices: Vec<Notice> = lost
            .iter()
            .flat_map(|name| self.lose_service(name))
            .collect();
        notices.extend(
            services
                .into_iter()
                .flat_map(|service| self.see_service(service)),
        );
        notices
    }

    pub(crate) fn see_slice(&mut self, slice: &EndpointSliceView) -> Vec<Notice> {
        let Some(service) = slice.service() else {
            return Vec::new();
        };
        let addresses = slice.ready_addresses().map(str::to_owned).collect();
        let entry = self.entries.entry(service.to_owned()).or_default();
        entry
            .endpoints
            .insert(slice.metadata.name.clone(), addresses);
        self.look(service)
    }

    pub(crate) fn lose_slice(&mut self, slice: &EndpointSliceView) -> Vec<Notice> {
        let Some(service) = slice.service() else {
            return Vec::new();
        };
        if let Some(entry) = self.entries.get_mut(service) {
            entry.endpoints.remove(&slice.metadata.name);
        }
        let notices = self.look(service);
        self.drop_if_empty(service);
        notices
    }

    /// All slices there are.
    pub(crate) fn see_slices(&mut self, slices: &[EndpointSliceView]) -> Vec<Notice> {
        let names: Vec<String> = self.entries.keys().cloned().collect();
        for entry in self.entries.values_mut() {
            entry.endpoints.clear();
        }
        for slice in slices {
            if let Some(service) = slice.service() {
                let entry = self.entries.entry(service.to_owned()).or_default();
                let addresses = slice.ready_addresses().map(str::to_owned).collect();
                entry
                    .endpoints
                    .insert(slice.metadata.name.clone(), addresses);
            }
        }
        let there = slices
            .iter()
            .filter_map(EndpointSliceView::service)
            .map(str::to_owned);
        let all: HashSet<String> = names.into_iter().chain(there).collect();
        let notices = all.iter().flat_map(|name| self.look(name)).collect();
        all.iter().for_each(|name| self.drop_if_empty(name));
        notices
    }

    /// What there is to say about a pod that was not said before.
    fn look(&mut self, name: &str) -> Vec<Notice> {
        let Some(entry) = self.entries.get_mut(name) else {
            return Vec::new();
        };
        let Some(id) = entry.id else {
            let is_there = entry.pod.is_some();
            return Vec::from_iter(is_there.then(|| Notice::Stranger(name.to_owned())));
        };
        let mut notices = Vec::new();
        let replica = entry
            .pod
            .as_ref()
            .map(|pod| replica_of(&pod.metadata).unwrap_or_default());
        if let Some(replica) = replica
            && !entry.holder.agrees_with(replica, &self.me)
        {
            notices.push(Notice::Moved(id));
        }
        let place = |ip: &str, cluster_ip: Option<&str>| {
            Place::new(self.mode, name, &self.namespace, ip, cluster_ip)
        };
        let condition = Condition::of(entry, self.mode, place);
        match &condition {
            Condition::Reachable(place) => entry.reached = Some(place.pod_ip.clone()),
            _ => entry.reached = None,
        }
        if condition != entry.told {
            notices.extend(condition.notice(id, &entry.told));
            entry.told = condition;
        }
        notices
    }

    fn drop_if_empty(&mut self, name: &str) {
        let is_empty = self.entries.get(name).is_some_and(|entry| {
            entry.id.is_none()
                && entry.pod.is_none()
                && entry.service.is_none()
                && entry.endpoints.is_empty()
        });
        if is_empty {
            self.entries.remove(name);
        }
    }
}

impl Entry {
    fn was_reached_at(&self, ip: &str) -> bool {
        !ip.is_empty() && self.reached.as_deref() == Some(ip)
    }

    fn lacks_service(&self) -> bool {
        let pod = self.pod.as_ref().filter(|pod| !is_terminating(pod));
        pod.is_some() && self.service.is_none()
    }

    fn has_endpoint(&self, ip: &str) -> bool {
        let mut addresses = self.endpoints.values().flatten();
        addresses.any(|address| address == ip)
    }
}

impl Holder {
    /// Whether a pod that names this replica is held as said.
    fn agrees_with(&self, replica: &str, me: &str) -> bool {
        match self {
            Holder::Unsaid => true,
            Holder::Us => replica == me,
            Holder::Nobody(before) => before == replica,
        }
    }
}

/// The replica that an object names.
pub(crate) fn replica_of(meta: &Meta) -> Option<&str> {
    meta.label(REPLICA_LABEL)
}

#[cfg(test)]
mod tests;
