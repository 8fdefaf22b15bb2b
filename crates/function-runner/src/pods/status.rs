//! The pods of the status page.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use kiln_pages::VisibleText;
use kiln_pages::status::{
    ColdStartStatus, ColdStartStep, KnownPods, PodRow, PodsStatus, PoolStatus, ReplicaStatus,
    WatchStatus,
};
use kiln_pods::{ColdStart, PodEvaluator, PodSnapshot, PodsSnapshot, PoolSnapshot};

use crate::started_pods::PodsSource;
use crate::status::{micros, millis};

/// How long the page waits for the owner of the pods.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The largest number of pods and of images on the page.
const MAX_ROWS: usize = 500;

/// Asks the evaluator for every page.
pub(super) fn source(evaluator: PodEvaluator) -> PodsSource {
    Arc::new(move || {
        let evaluator = evaluator.clone();
        Box::pin(async move {
            match evaluator.snapshot(TIMEOUT).await {
                Some(snapshot) => PodsStatus::Known(known(snapshot)),
                None => PodsStatus::NoAnswer {
                    after_ms: millis(TIMEOUT),
                },
            }
        })
    })
}

fn known(mut snapshot: PodsSnapshot) -> KnownPods {
    // This replica's pods come first, and remain if there are too many.
    snapshot.pods.sort_by_key(|pod| !pod.is_own);
    let left_out = snapshot.pods.len().saturating_sub(MAX_ROWS);
    KnownPods {
        replica: snapshot.replica,
        is_synced: snapshot.is_synced,
        watches: snapshot
            .watches
            .into_iter()
            .map(|watch| WatchStatus {
                kind: watch.kind,
                is_healthy: watch.is_healthy,
                state: watch.state.into(),
            })
            .collect(),
        pools: snapshot
            .pools
            .into_iter()
            .take(MAX_ROWS)
            .map(pool_status)
            .collect(),
        pods: snapshot
            .pods
            .into_iter()
            .take(MAX_ROWS)
            .map(pod_row)
            .collect(),
        pods_left_out: left_out as u64,
        replicas: snapshot
            .replicas
            .into_iter()
            .take(MAX_ROWS)
            .map(|replica| ReplicaStatus {
                name: replica.name.into(),
                is_this: replica.is_this,
                is_alive: replica.is_alive,
                lease_age_ms: replica.lease_age.map(millis),
                lease_period_ms: replica.lease_period.map(millis),
                pods: replica.pods as u64,
            })
            .collect(),
    }
}

fn pool_status(pool: PoolSnapshot) -> PoolStatus {
    PoolStatus {
        image: pool.image.into(),
        digest: pool.digest.map(VisibleText::from),
        waiting: pool.waiting as u64,
        pods: pool.pods as u64,
        max_pods: pool.max_pods as u64,
        last_cold_start: pool.last_cold_start.map(cold_start_status),
    }
}

fn cold_start_status(start: ColdStart) -> ColdStartStatus {
    ColdStartStatus {
        pod: start.pod.into(),
        ms_ago: millis(start.age),
        steps: start
            .steps
            .into_iter()
            .map(|(name, after)| ColdStartStep {
                name: name.to_owned(),
                at_us: micros(after),
            })
            .collect(),
    }
}

fn pod_row(pod: PodSnapshot) -> PodRow {
    PodRow {
        name: pod.name.into(),
        image: pod.image.into(),
        state: pod.state.to_owned(),
        reason: pod.reason.map(VisibleText::from),
        node: pod.node.map(VisibleText::from),
        age_ms: pod.created.as_deref().and_then(age_of),
        created: pod.created.map(VisibleText::from),
        running: pod.running as u64,
        idle_ms: pod.idle.map(millis),
        expires_in_ms: pod.expires_in.map(millis),
        owner: pod.owner.into(),
        is_own: pod.is_own,
    }
}

/// Since a time that Kubernetes reports; `None` if it is not a time, or if the clocks differ.
fn age_of(created: &str) -> Option<u64> {
    let created: jiff::Timestamp = created.parse().ok()?;
    let age = SystemTime::now().duration_since(created.into()).ok()?;
    Some(millis(age))
}
