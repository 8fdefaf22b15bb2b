//! The cluster view: pods, services and endpoints, joined from several watches.
//!
//! Watches of different kinds report at different times. The view derives one state per pod and reports each change of
//! it once. Pods are identified by names here and by ids in [`crate::pool`]; the view maps one to the other.

mod pod_state;

use std::collections::{HashMap, HashSet};

use crate::connection::address::{AddressMode, PodAddress};
use crate::kube::names::REPLICA_LABEL;
use crate::kube::pod_status::is_terminating;
use crate::kube::views::{EndpointSliceView, ObjectMeta, PodView, ServiceView};
use crate::pool::{PodId, PoolEvent};
use pod_state::PodState;

/// All pods, by the name that a pod shares with its service.
#[derive(Debug)]
pub(crate) struct ClusterView {
    mode: AddressMode,
    namespace: String,
    /// The name of this replica, as a label value.
    own_replica: String,
    entries: HashMap<String, PodEntry>,
    names: HashMap<PodId, String>,
}

/// What is known about one pod.
#[derive(Debug, Default)]
struct PodEntry {
    id: Option<PodId>,
    owner: ReportedOwner,
    pod: Option<PodView>,
    service: Option<ServiceView>,
    /// Ready addresses by EndpointSlice.
    endpoints: HashMap<String, Vec<String>>,
    reported: PodState,
    /// The IP at which the pod was last reachable; reset when its containers or its service become unavailable.
    reached_at: Option<String>,
}

/// The owner of a pod as reported to the state machine.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum ReportedOwner {
    #[default]
    Unreported,
    Ours,
    /// An orphan of the replica with this name.
    Orphaned(String),
}

/// What the driver has to do after an update.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Notice {
    /// Pass an event to the state machine.
    Event(PoolEvent),
    /// Connect to a pod that has become reachable.
    Reachable(PodId, PodAddress),
    /// Decide about a pod that has no id.
    Unassigned(String),
    /// Review a pod whose replica label differs from the reported owner.
    OwnerChanged(PodId),
}

impl ClusterView {
    pub(crate) fn new(mode: AddressMode, namespace: &str, own_replica: &str) -> ClusterView {
        ClusterView {
            mode,
            own_replica: own_replica.to_owned(),
            namespace: namespace.to_owned(),
            entries: HashMap::new(),
            names: HashMap::new(),
        }
    }

    /// Assigns an id to a pod that this replica is about to create.
    pub(crate) fn assign_own(&mut self, id: PodId, name: &str) {
        self.assign(id, name, ReportedOwner::Ours);
    }

    pub(crate) fn assign(&mut self, id: PodId, name: &str, owner: ReportedOwner) {
        self.names.insert(id, name.to_owned());
        let entry = self.entries.entry(name.to_owned()).or_default();
        entry.id = Some(id);
        entry.owner = owner;
        entry.reported = PodState::default();
        entry.reached_at = None;
    }

    pub(crate) fn set_owner(&mut self, id: PodId, owner: ReportedOwner) {
        if let Some(entry) = self
            .names
            .get(&id)
            .and_then(|name| self.entries.get_mut(name))
        {
            entry.owner = owner;
        }
    }

    /// Drops the id of a pod. What watches have reported remains.
    pub(crate) fn forget(&mut self, id: PodId) {
        let Some(name) = self.names.remove(&id) else {
            return;
        };
        if let Some(entry) = self.entries.get_mut(&name)
            && entry.id == Some(id)
        {
            entry.id = None;
            entry.owner = ReportedOwner::Unreported;
            entry.reported = PodState::default();
        }
        self.drop_if_empty(&name);
    }

    pub(crate) fn name_of(&self, id: PodId) -> Option<&str> {
        self.names.get(&id).map(String::as_str)
    }

    pub(crate) fn pod(&self, name: &str) -> Option<&PodView> {
        self.entries.get(name)?.pod.as_ref()
    }

    /// All pods that watches have reported.
    pub(crate) fn pods(&self) -> impl Iterator<Item = &PodView> {
        self.entries.values().filter_map(|entry| entry.pod.as_ref())
    }

    /// The id of a pod that was reported to be this replica's.
    pub(crate) fn own_pod_id(&self, name: &str) -> Option<PodId> {
        let entry = self.entries.get(name)?;
        entry.id.filter(|_| entry.owner == ReportedOwner::Ours)
    }

    pub(crate) fn owner(&self, id: PodId) -> Option<&ReportedOwner> {
        let entry = self.entries.get(self.names.get(&id)?)?;
        Some(&entry.owner)
    }

    pub(crate) fn service(&self, name: &str) -> Option<&ServiceView> {
        self.entries.get(name)?.service.as_ref()
    }

    /// The pods without an id that have an owner of interest, by name. There may be many others.
    pub(crate) fn unassigned(&self, mut is_of_interest: impl FnMut(&str) -> bool) -> Vec<String> {
        let unassigned = self.entries.iter().filter(|(_, entry)| {
            let pod = entry.pod.as_ref().filter(|_| entry.id.is_none());
            let replica = pod.and_then(|pod| replica_of(&pod.metadata));
            replica.is_some_and(&mut is_of_interest)
        });
        sorted(unassigned.map(|(name, _)| name.clone()))
    }

    /// The pods that were reported as orphans.
    pub(crate) fn orphans(&self) -> Vec<PodId> {
        let entries = self.entries.values();
        let orphans = entries.filter(|entry| matches!(entry.owner, ReportedOwner::Orphaned(_)));
        sorted(orphans.filter_map(|entry| entry.id))
    }

    /// The pods that were reported to be this replica's but have the label of another one.
    pub(crate) fn taken_over(&self) -> Vec<PodId> {
        let taken_over = self.entries.values().filter(|entry| {
            let replica = entry.pod.as_ref().and_then(|pod| replica_of(&pod.metadata));
            entry.owner == ReportedOwner::Ours
                && replica.is_some_and(|replica| replica != self.own_replica)
        });
        sorted(taken_over.filter_map(|entry| entry.id))
    }

    /// All replicas in labels of pods and services.
    pub(crate) fn replicas(&self) -> HashSet<&str> {
        let metas = self.entries.values().flat_map(|entry| {
            let pod = entry.pod.as_ref().map(|pod| &pod.metadata);
            let service = entry.service.as_ref().map(|service| &service.metadata);
            pod.into_iter().chain(service)
        });
        metas.filter_map(replica_of).collect()
    }

    /// Reports the state of a pod again, including a missing service: its replica may have been killed before creating
    /// it.
    pub(crate) fn report_again(&mut self, id: PodId) -> Vec<Notice> {
        let Some(name) = self.names.get(&id).cloned() else {
            return Vec::new();
        };
        let mut notices = Vec::new();
        if let Some(entry) = self.entries.get_mut(&name) {
            if entry.reported != PodState::Unseen {
                entry.reported = PodState::Starting;
            }
            if self.mode != AddressMode::PodIp && entry.lacks_service() {
                notices.push(Notice::Event(PoolEvent::ServiceGone { pod: id }));
            }
        }
        notices.extend(self.report_changes(&name));
        notices
    }

    pub(crate) fn update_pod(&mut self, pod: PodView) -> Vec<Notice> {
        let name = pod.metadata.name.clone();
        self.entries.entry(name.clone()).or_default().pod = Some(pod);
        self.report_changes(&name)
    }

    pub(crate) fn remove_pod(&mut self, name: &str) -> Vec<Notice> {
        if let Some(entry) = self.entries.get_mut(name) {
            entry.pod = None;
        }
        let notices = self.report_changes(name);
        self.drop_if_empty(name);
        notices
    }

    pub(crate) fn replace_pods(&mut self, pods: Vec<PodView>) -> Vec<Notice> {
        let there: HashSet<String> = pods.iter().map(|pod| pod.metadata.name.clone()).collect();
        let lost = self
            .entries
            .iter()
            .filter(|(name, entry)| entry.pod.is_some() && !there.contains(*name));
        let lost = sorted(lost.map(|(name, _)| name.clone()));
        let mut notices: Vec<Notice> = lost.iter().flat_map(|name| self.remove_pod(name)).collect();
        notices.extend(pods.into_iter().flat_map(|pod| self.update_pod(pod)));
        notices
    }

    pub(crate) fn update_service(&mut self, service: ServiceView) -> Vec<Notice> {
        let name = service.metadata.name.clone();
        self.entries.entry(name.clone()).or_default().service = Some(service);
        self.report_changes(&name)
    }

    pub(crate) fn remove_service(&mut self, name: &str) -> Vec<Notice> {
        let Some(entry) = self.entries.get_mut(name) else {
            return Vec::new();
        };
        let was_there = entry.service.take().is_some();
        let id = entry.id.filter(|_| was_there && entry.pod.is_some());
        let mut notices: Vec<Notice> = id
            .map(|pod| Notice::Event(PoolEvent::ServiceGone { pod }))
            .into_iter()
            .collect();
        notices.extend(self.report_changes(name));
        self.drop_if_empty(name);
        notices
    }

    pub(crate) fn replace_services(&mut self, services: Vec<ServiceView>) -> Vec<Notice> {
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
            .flat_map(|name| self.remove_service(name))
            .collect();
        notices.extend(
            services
                .into_iter()
                .flat_map(|service| self.update_service(service)),
        );
        notices
    }

    pub(crate) fn update_slice(&mut self, slice: &EndpointSliceView) -> Vec<Notice> {
        let Some(service) = slice.service() else {
            return Vec::new();
        };
        let addresses = slice.ready_addresses().map(str::to_owned).collect();
        let entry = self.entries.entry(service.to_owned()).or_default();
        entry
            .endpoints
            .insert(slice.metadata.name.clone(), addresses);
        self.report_changes(service)
    }

    pub(crate) fn remove_slice(&mut self, slice: &EndpointSliceView) -> Vec<Notice> {
        let Some(service) = slice.service() else {
            return Vec::new();
        };
        if let Some(entry) = self.entries.get_mut(service) {
            entry.endpoints.remove(&slice.metadata.name);
        }
        let notices = self.report_changes(service);
        self.drop_if_empty(service);
        notices
    }

    /// Replaces all EndpointSlices.
    pub(crate) fn replace_slices(&mut self, slices: &[EndpointSliceView]) -> Vec<Notice> {
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
        let notices = all
            .iter()
            .flat_map(|name| self.report_changes(name))
            .collect();
        all.iter().for_each(|name| self.drop_if_empty(name));
        notices
    }

    /// Reports changes of the state of a pod.
    fn report_changes(&mut self, name: &str) -> Vec<Notice> {
        let Some(entry) = self.entries.get_mut(name) else {
            return Vec::new();
        };
        let Some(id) = entry.id else {
            let is_there = entry.pod.is_some();
            return Vec::from_iter(is_there.then(|| Notice::Unassigned(name.to_owned())));
        };
        let mut notices = Vec::new();
        let replica = entry
            .pod
            .as_ref()
            .map(|pod| replica_of(&pod.metadata).unwrap_or_default());
        if let Some(replica) = replica
            && !entry.owner.matches_replica(replica, &self.own_replica)
        {
            notices.push(Notice::OwnerChanged(id));
        }
        let address = |ip: &str, cluster_ip: Option<&str>| {
            PodAddress::new(self.mode, name, &self.namespace, ip, cluster_ip)
        };
        let state = PodState::of(entry, self.mode, address);
        match &state {
            PodState::Reachable(address) => entry.reached_at = Some(address.pod_ip.clone()),
            _ => entry.reached_at = None,
        }
        if state != entry.reported {
            notices.extend(state.notice(id, &entry.reported));
            entry.reported = state;
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

/// The same order in every process, so that a simulation can be repeated.
fn sorted<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.collect();
    items.sort_unstable();
    items
}

impl PodEntry {
    fn was_reached_at(&self, ip: &str) -> bool {
        !ip.is_empty() && self.reached_at.as_deref() == Some(ip)
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

impl ReportedOwner {
    /// Whether a pod with this replica label has the reported owner.
    fn matches_replica(&self, replica: &str, own_replica: &str) -> bool {
        match self {
            ReportedOwner::Unreported => true,
            ReportedOwner::Ours => replica == own_replica,
            ReportedOwner::Orphaned(before) => before == replica,
        }
    }
}

/// The replica label of an object.
pub(crate) fn replica_of(meta: &ObjectMeta) -> Option<&str> {
    meta.label(REPLICA_LABEL)
}

#[cfg(test)]
mod tests;
