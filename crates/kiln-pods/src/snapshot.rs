//! What a replica knows about pods and replicas at one moment, for its status page.

use std::time::Duration;

/// The pods of all images, as one replica sees them.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PodsSnapshot {
    /// The name of this replica.
    pub replica: String,
    /// Whether everything is listed and watched.
    pub is_synced: bool,
    pub watches: Vec<WatchSnapshot>,
    /// By image.
    pub pools: Vec<PoolSnapshot>,
    /// By name.
    pub pods: Vec<PodSnapshot>,
    /// By name.
    pub replicas: Vec<ReplicaSnapshot>,
}

/// The state of a watch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WatchSnapshot {
    pub kind: String,
    pub is_healthy: bool,
    pub state: String,
}

/// The pods of one image.
#[derive(Clone, PartialEq, Debug)]
pub struct PoolSnapshot {
    pub image: String,
    /// The digest that the image reference resolved to.
    pub digest: Option<String>,
    /// Number of requests that wait for a pod.
    pub waiting: usize,
    /// Number of pods that count towards the limit.
    pub pods: usize,
    pub max_pods: usize,
    pub last_cold_start: Option<ColdStart>,
}

/// How the newest pod of an image started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ColdStart {
    /// The name of the pod; empty until it has one.
    pub pod: String,
    /// The time since the decision to create it.
    pub age: Duration,
    /// The steps that are done, each with the time from the decision to its end.
    pub steps: Vec<(&'static str, Duration)>,
}

/// One pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PodSnapshot {
    pub name: String,
    pub image: String,
    /// The state from the view of this replica.
    pub state: &'static str,
    /// Why it is not ready, as Kubernetes reports it.
    pub reason: Option<String>,
    pub node: Option<String>,
    /// The creation time that Kubernetes reports.
    pub created: Option<String>,
    /// Number of calls of this replica.
    pub running: usize,
    /// How long it has been without calls of this replica.
    pub idle: Option<Duration>,
    /// The rest of its time to live.
    pub expires_in: Option<Duration>,
    /// The replica in its label.
    pub owner: String,
    pub is_own: bool,
}

/// One replica.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplicaSnapshot {
    pub name: String,
    pub is_this: bool,
    pub is_alive: bool,
    /// Time since its lease changed; `None` without a lease.
    pub lease_age: Option<Duration>,
    pub lease_period: Option<Duration>,
    /// Number of pods with its label.
    pub pods: usize,
}
