//! What the driver knows, for the status page.

use std::collections::{BTreeMap, HashMap};

use super::Driver;
use crate::kube::cluster_view::replica_of;
use crate::kube::names::FUNCTION_ANNOTATION;
use crate::kube::pod_status::{not_ready_reason, problem};
use crate::kube::views::PodView;
use crate::pool::PooledPod;
use crate::snapshot::{PodSnapshot, PodsSnapshot, PoolSnapshot, ReplicaSnapshot, WatchSnapshot};

impl Driver {
    /// Copies what is known. Pods that watches have not reported yet are not listed.
    pub(super) fn snapshot(&self) -> PodsSnapshot {
        let now = self.now();
        let controller = &self.controller;
        let own = controller.replica();
        let mut pooled: HashMap<&str, PooledPod> = HashMap::new();
        let mut pools = Vec::new();
        for pool in controller.pools.states(now) {
            let named = pool.pods.iter();
            let named = named.filter_map(|pod| Some((controller.view.name_of(pod.id)?, *pod)));
            pooled.extend(named);
            pools.push(PoolSnapshot {
                image: pool.image.as_str().to_owned(),
                digest: pool.digest.map(str::to_owned),
                waiting: pool.waiting,
                pods: pool.active,
                max_pods: pool.max_pods,
                last_cold_start: self.tasks.cold_starts.last(pool.image),
            });
        }
        let pods = controller.view.pods();
        let mut pods: Vec<PodSnapshot> = pods
            .map(|pod| pod_snapshot(pod, pooled.get(pod.metadata.name.as_str()), own))
            .collect();
        pods.sort_by(|a, b| a.name.cmp(&b.name));
        let watches = self.watch_health.states();
        PodsSnapshot {
            replica: own.to_owned(),
            is_synced: self.watch_health.is_synced(),
            watches: watches
                .map(|(kind, is_healthy, state)| WatchSnapshot {
                    kind: format!("{kind:?}"),
                    is_healthy,
                    state,
                })
                .collect(),
            replicas: self.replica_snapshots(&pods),
            pools,
            pods,
        }
    }

    /// The replicas with a lease or a pod.
    fn replica_snapshots(&self, pods: &[PodSnapshot]) -> Vec<ReplicaSnapshot> {
        let own = self.controller.replica();
        let without_lease = |name: &str| ReplicaSnapshot {
            name: name.to_owned(),
            is_this: name == own,
            is_alive: false,
            lease_age: None,
            lease_period: None,
            pods: 0,
        };
        let mut replicas: BTreeMap<&str, ReplicaSnapshot> = BTreeMap::new();
        for (name, is_alive, age, period) in self.controller.replicas.observed(self.now()) {
            let replica = ReplicaSnapshot {
                is_alive,
                lease_age: Some(age),
                lease_period: Some(period),
                ..without_lease(name)
            };
            replicas.insert(name, replica);
        }
        for pod in pods {
            let replica = replicas.entry(&pod.owner);
            replica.or_insert_with(|| without_lease(&pod.owner)).pods += 1;
        }
        replicas.into_values().collect()
    }
}

fn pod_snapshot(pod: &PodView, pooled: Option<&PooledPod>, own: &str) -> PodSnapshot {
    let owner = replica_of(&pod.metadata).unwrap_or_default();
    let problem = problem(pod).map(|problem| format!("{}: {}", problem.reason, problem.message));
    PodSnapshot {
        name: pod.metadata.name.clone(),
        image: pod
            .metadata
            .annotation(FUNCTION_ANNOTATION)
            .unwrap_or_default()
            .to_owned(),
        state: pooled.map_or("another replica's", |pooled| pooled.phase),
        reason: problem.or_else(|| not_ready_reason(pod)),
        node: pod.spec.node_name.clone(),
        created: pod.metadata.creation_timestamp.clone(),
        running: pooled.map_or(0, |pooled| pooled.running),
        idle: pooled.and_then(|pooled| pooled.idle),
        expires_in: pooled.and_then(|pooled| pooled.expires_in),
        owner: owner.to_owned(),
        is_own: owner == own,
    }
}
