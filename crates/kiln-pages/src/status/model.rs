//! The model of a status page. It is what `/status.json` returns, and all that the pages see.
//!
//! The JSON is an interface: fields are added, never renamed or given another meaning, without a new [`STATUS_VERSION`].

use serde::{Deserialize, Serialize};

use crate::visible_text::VisibleText;

/// The version of the JSON.
pub const STATUS_VERSION: u32 = 1;

/// A function runner at one moment.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusModel {
    /// [`STATUS_VERSION`] of the program that wrote it.
    pub version: u32,
    pub program: String,
    /// Version and commit of the program.
    pub build: String,
    /// Where it takes calls.
    pub address: String,
    /// When the data was collected, as RFC 3339.
    pub as_of: String,
    /// When the program started, as RFC 3339.
    pub started: String,
    pub uptime_ms: u64,
    pub health: ServiceHealth,
    /// The evaluators in their order.
    pub evaluators: Vec<String>,
    /// What the sandbox of executables enforces.
    pub sandbox: Vec<String>,
    pub lanes: Vec<LaneStatus>,
    /// All calls of the last minutes.
    pub windows: Vec<WindowStatus>,
    /// Those with calls in the last hour, and those that failed.
    pub functions: Vec<FunctionStatus>,
    /// The oldest first.
    pub running: Vec<RunningStatus>,
    /// The newest first.
    pub recent: Vec<CallStatus>,
    /// Whether messages of failed calls are kept and shown.
    pub shows_messages: bool,
    pub limits: Vec<LimitStatus>,
    pub pods: PodsStatus,
    pub settings: Vec<SettingStatus>,
}

/// Whether a service takes calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServiceHealth {
    Serving,
    /// It answers, but cannot run functions.
    NotReady,
    /// It finishes running calls and takes no more.
    Draining,
}

/// The slots of one kind of work.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LaneStatus {
    pub name: String,
    pub running: u64,
    pub slots: u64,
    pub waiting: u64,
    pub max_waiting: u64,
}

/// The calls that ended in the last minutes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WindowStatus {
    pub minutes: u64,
    pub calls: u64,
    pub failures: u64,
    /// Total time of calls; `None` without calls.
    pub p50_us: Option<u64>,
    pub p95_us: Option<u64>,
    pub p99_us: Option<u64>,
    pub max_us: Option<u64>,
}

/// An image that an evaluator runs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FunctionStatus {
    pub image: VisibleText,
    /// `none` if no evaluator has it.
    pub evaluator: String,
    pub windows: Vec<WindowStatus>,
    /// Total times of the calls of the last hour.
    pub buckets: Vec<BucketStatus>,
    /// Failed calls since the start, by cause.
    pub failed: Vec<ClassCount>,
    /// Calls since the start.
    pub calls: u64,
    pub last_call_ms_ago: u64,
    /// The newest first.
    pub last_failures: Vec<FailureStatus>,
}

/// A bar of a histogram.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BucketStatus {
    /// `None` for the last bucket.
    pub up_to_us: Option<u64>,
    pub calls: u64,
}

/// How many calls failed for one cause.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClassCount {
    pub class: String,
    pub calls: u64,
}

/// A failed call of a function.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FailureStatus {
    /// [`CallStatus::id`].
    pub call: u64,
    pub ended: String,
    pub ms_ago: u64,
    pub code: String,
    pub class: String,
    pub exit_code: Option<i32>,
    /// `None` if messages are not kept.
    pub message: Option<VisibleText>,
}

/// A call that has not ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunningStatus {
    pub id: u64,
    pub request_id: VisibleText,
    pub trace_id: Option<String>,
    pub image: VisibleText,
    /// `None` until an evaluator has it.
    pub evaluator: Option<String>,
    /// What it needs a slot of.
    pub lane: Option<String>,
    /// Whether it has a slot.
    pub is_running: bool,
    /// Since it arrived.
    pub age_us: u64,
    /// Since it got its slot, or since it waits for one.
    pub in_state_us: u64,
    pub request_bytes: u64,
}

/// A call that has ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallStatus {
    /// A number that is unique in this process.
    pub id: u64,
    pub request_id: VisibleText,
    pub trace_id: Option<String>,
    pub image: VisibleText,
    pub evaluator: Option<String>,
    pub ended: String,
    pub ms_ago: u64,
    /// The name of the gRPC status code.
    pub code: String,
    /// The cause of a failure.
    pub class: Option<String>,
    pub exit_code: Option<i32>,
    pub queue_us: u64,
    pub execution_us: Option<u64>,
    pub total_us: u64,
    pub request_bytes: u64,
    pub response_bytes: u64,
}

/// How close a limit is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LimitStatus {
    pub name: String,
    /// `None` if it cannot be measured here.
    pub used: Option<u64>,
    /// `None` if there is no limit.
    pub max: Option<u64>,
    /// Whether these are bytes.
    pub is_bytes: bool,
    /// The flag that sets it.
    pub flag: Option<String>,
}

/// Pods, if functions run in pods.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(
    tag = "state",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
pub enum PodsStatus {
    /// The pod evaluator is not enabled.
    Disabled,
    /// The owner of the pods did not answer in time.
    NoAnswer {
        after_ms: u64,
    },
    Known(KnownPods),
}

/// What a replica knows about the cluster.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KnownPods {
    /// The name of this replica.
    pub replica: String,
    /// Whether everything is listed and watched.
    pub is_synced: bool,
    pub watches: Vec<WatchStatus>,
    pub pools: Vec<PoolStatus>,
    pub pods: Vec<PodRow>,
    /// How many pods are not listed because there are too many.
    pub pods_left_out: u64,
    pub replicas: Vec<ReplicaStatus>,
}

/// A watch of a kind of objects.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WatchStatus {
    pub kind: String,
    pub is_healthy: bool,
    /// Its state, with the reason if it is broken.
    pub state: VisibleText,
}

/// The pods of one image.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PoolStatus {
    pub image: VisibleText,
    /// What the reference of the image resolved to.
    pub digest: Option<VisibleText>,
    /// Calls that wait for a pod.
    pub waiting: u64,
    pub pods: u64,
    pub max_pods: u64,
    pub last_cold_start: Option<ColdStartStatus>,
}

/// How the newest pod of an image started.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ColdStartStatus {
    pub pod: VisibleText,
    /// Since the decision to create it.
    pub ms_ago: u64,
    /// The steps so far, in order.
    pub steps: Vec<ColdStartStep>,
}

/// A step of a cold start.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ColdStartStep {
    pub name: String,
    /// When it ended, since the decision to create the pod.
    pub at_us: u64,
}

/// A pod.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodRow {
    pub name: VisibleText,
    pub image: VisibleText,
    /// As this replica sees it: `pending`, `ready`, `retiring`, …
    pub state: String,
    /// Why it is not ready, as Kubernetes reports it.
    pub reason: Option<VisibleText>,
    pub node: Option<VisibleText>,
    /// When it was created, as Kubernetes reports it.
    pub created: Option<VisibleText>,
    /// Since then.
    #[serde(default)]
    pub age_ms: Option<u64>,
    /// Calls of this replica that run in it.
    pub running: u64,
    pub idle_ms: Option<u64>,
    /// Until it is deleted if no call comes.
    pub expires_in_ms: Option<u64>,
    pub owner: VisibleText,
    pub is_own: bool,
}

/// A replica of the function runner.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplicaStatus {
    pub name: VisibleText,
    pub is_this: bool,
    pub is_alive: bool,
    /// Since its lease last changed; `None` without a lease.
    pub lease_age_ms: Option<u64>,
    pub lease_period_ms: Option<u64>,
    pub pods: u64,
}

/// A flag and its value.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SettingStatus {
    pub flag: String,
    pub value: VisibleText,
    pub default: VisibleText,
}

impl StatusModel {
    /// The failure of a call, if it is still kept.
    pub(super) fn failure(&self, call: u64) -> Option<&FailureStatus> {
        let mut failures = self.functions.iter().flat_map(|known| &known.last_failures);
        failures.find(|failure| failure.call == call)
    }
}

impl FunctionStatus {
    /// The failed calls since the start.
    pub(super) fn failures(&self) -> u64 {
        self.failed.iter().map(|count| count.calls).sum()
    }

    /// The longest window.
    pub(super) fn hour(&self) -> Option<&WindowStatus> {
        self.windows.last()
    }
}

impl SettingStatus {
    pub(super) fn is_changed(&self) -> bool {
        self.value != self.default
    }
}

impl ServiceHealth {
    pub(super) fn word(self) -> &'static str {
        match self {
            ServiceHealth::Serving => "serving",
            ServiceHealth::NotReady => "not ready",
            ServiceHealth::Draining => "draining",
        }
    }
}
