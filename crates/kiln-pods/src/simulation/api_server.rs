//! The API server of the simulation: the pods, and a limit on requests.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::kube::names::{
    DIGEST_ANNOTATION, FUNCTION_ANNOTATION, RECLAIM_AFTER, REPLICA_LABEL, SETTINGS_VERSION,
    TEMPLATE_VERSION,
};
use crate::kube::views::{LeaseSpec, LeaseView, ObjectMeta, PodCondition, PodStatus, PodView};
use crate::pool::{ImageKey, Moment, PodVersion};

/// Requests per second that the server accepts before it answers 429.
const RATE: f64 = 1_000.0;

/// A pod, as its object and as a process.
pub(super) struct SimulatedPod {
    pub(super) image: ImageKey,
    pub(super) stage: PodStage,
    /// The replica label.
    pub(super) owner: usize,
    pub(super) version: u64,
    reclaim_after: u64,
    /// Calls of any replica.
    pub(super) running: u32,
    pub(super) last_call: Moment,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum PodStage {
    /// A replica has chosen its name.
    Named,
    Starting,
    Ready,
    /// Being deleted.
    Terminating,
    Gone,
}

/// A kind of request, for the statistics.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ApiRequest {
    CreatePod,
    CreateService,
    DeletePod,
    DeleteService,
    /// Updates the reclaim annotation of a pod.
    AnnotatePod,
    /// Changes the owner of a pod.
    AdoptPod,
    AdoptService,
    /// Reads a pod again after a conflict.
    GetPod,
    RenewLease,
}

#[derive(Default)]
pub(super) struct ApiServer {
    pub(super) pods: Vec<SimulatedPod>,
    version: u64,
    budget: f64,
    budget_at: Moment,
    pub(super) requests: BTreeMap<ApiRequest, u64>,
    pub(super) refused: u64,
    /// Requests in each minute.
    pub(super) by_minute: Vec<u64>,
}

impl ApiServer {
    /// Counts a request; false means that the answer is 429.
    pub(super) fn accepts(&mut self, now: Moment, request: ApiRequest) -> bool {
        let earned = now.since(self.budget_at).as_secs_f64() * RATE;
        self.budget = (self.budget + earned).min(RATE);
        self.budget_at = now;
        *self.requests.entry(request).or_default() += 1;
        let minute = usize::try_from(now.0.as_secs() / 60).unwrap_or(usize::MAX);
        if self.by_minute.len() <= minute {
            self.by_minute.resize(minute + 1, 0);
        }
        if let Some(count) = self.by_minute.get_mut(minute) {
            *count += 1;
        }
        if self.budget < 1.0 {
            self.refused += 1;
            return false;
        }
        self.budget -= 1.0;
        true
    }

    /// Reserves a name, which is the index of the pod.
    pub(super) fn name_pod(&mut self, image: ImageKey, owner: usize) -> usize {
        self.pods.push(SimulatedPod {
            image,
            stage: PodStage::Named,
            owner,
            version: 0,
            reclaim_after: 0,
            running: 0,
            last_call: Moment::default(),
        });
        self.pods.len() - 1
    }

    /// Records a change of a pod.
    pub(super) fn touch(&mut self, pod: usize) {
        self.version += 1;
        if let Some(pod) = self.pods.get_mut(pod) {
            pod.version = self.version;
        }
    }

    pub(super) fn set_reclaim(&mut self, pod: usize, now: Moment, reclaim_in: Duration) {
        if let Some(pod) = self.pods.get_mut(pod) {
            pod.reclaim_after = now.after(reclaim_in).0.as_secs();
        }
    }

    /// The objects that exist.
    pub(super) fn list(&self) -> Vec<PodView> {
        (0..self.pods.len())
            .filter_map(|pod| self.view(pod))
            .collect()
    }

    /// The object of a pod; `None` if it does not exist.
    pub(super) fn view(&self, index: usize) -> Option<PodView> {
        let pod = self.pods.get(index)?;
        let is_there = pod.stage > PodStage::Named && pod.stage < PodStage::Gone;
        is_there.then(|| PodView {
            metadata: ObjectMeta {
                name: pod_name(index),
                uid: format!("uid-{index}"),
                resource_version: pod.version.to_string(),
                deletion_timestamp: (pod.stage == PodStage::Terminating)
                    .then(|| "2026-01-01T00:00:00Z".to_owned()),
                labels: texts(&[(REPLICA_LABEL, replica_name(pod.owner))]),
                annotations: texts(&[
                    (FUNCTION_ANNOTATION, pod.image.to_string()),
                    (RECLAIM_AFTER, pod.reclaim_after.to_string()),
                    (TEMPLATE_VERSION, TEMPLATE.to_owned()),
                    (SETTINGS_VERSION, String::new()),
                    (DIGEST_ANNOTATION, DIGEST.to_owned()),
                ]),
                ..ObjectMeta::default()
            },
            status: PodStatus {
                phase: "Running".to_owned(),
                pod_ip: index.to_string(),
                conditions: vec![PodCondition {
                    kind: "Ready".to_owned(),
                    status: if pod.stage == PodStage::Ready {
                        "True"
                    } else {
                        "False"
                    }
                    .to_owned(),
                    ..PodCondition::default()
                }],
                ..PodStatus::default()
            },
            ..PodView::default()
        })
    }
}

const TEMPLATE: &str = "1";
const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// The version of all pods.
pub(super) fn pod_version() -> PodVersion {
    PodVersion {
        template: crate::config::pool_specs::version_text(TEMPLATE, ""),
        digest: Some(DIGEST.into()),
    }
}

pub(super) fn replica_name(replica: usize) -> String {
    format!("function-runner-{replica:04}")
}

pub(super) fn pod_name(pod: usize) -> String {
    format!("set-namespace-v041-{pod}-01234567-89abcd")
}

/// The index in a pod's name.
pub(super) fn pod_index(name: &str) -> Option<usize> {
    name.split('-').nth(3)?.parse().ok()
}

/// The lease of a replica after a renewal.
pub(super) fn lease(replica: usize, renewed: Moment) -> LeaseView {
    let name = replica_name(replica);
    LeaseView {
        metadata: ObjectMeta {
            name: format!("fn-{name}"),
            uid: format!("lease-{replica}"),
            labels: texts(&[(REPLICA_LABEL, name.clone())]),
            ..ObjectMeta::default()
        },
        spec: LeaseSpec {
            holder_identity: Some(name),
            renew_time: Some(format!("{:?}", renewed.0)),
            ..LeaseSpec::default()
        },
    }
}

fn texts(pairs: &[(&str, String)]) -> BTreeMap<String, String> {
    let pairs = pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), value.clone()));
    pairs.collect()
}
