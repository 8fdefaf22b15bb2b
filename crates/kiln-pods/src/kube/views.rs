//! Kubernetes objects, reduced to the fields that this program uses, so that many of them need little memory.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::config::function_config::FunctionConfig;
use crate::kube::watch::WatchedObject;

#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ObjectMeta {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) resource_version: String,
    pub(crate) creation_timestamp: Option<String>,
    pub(crate) deletion_timestamp: Option<String>,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) annotations: BTreeMap<String, String>,
}

impl ObjectMeta {
    pub(crate) fn label(&self, key: &str) -> Option<&str> {
        self.labels.get(key).map(String::as_str)
    }

    pub(crate) fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.get(key).map(String::as_str)
    }
}

#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PodView {
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: PodPlacement,
    pub(crate) status: PodStatus,
}

/// Where a pod runs.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodPlacement {
    /// `None` until it is scheduled.
    pub(crate) node_name: Option<String>,
}

#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodStatus {
    pub(crate) phase: String,
    pub(crate) reason: String,
    pub(crate) message: String,
    #[serde(rename = "podIP")]
    pub(crate) pod_ip: String,
    pub(crate) conditions: Vec<PodCondition>,
    pub(crate) init_container_statuses: Vec<ContainerStatus>,
    pub(crate) container_statuses: Vec<ContainerStatus>,
}

#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PodCondition {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) status: String,
    pub(crate) reason: String,
    pub(crate) message: String,
}

#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ContainerStatus {
    pub(crate) name: String,
    pub(crate) state: ContainerState,
    pub(crate) last_state: ContainerState,
}

/// At most one of these is set.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ContainerState {
    pub(crate) waiting: Option<ContainerWaiting>,
    pub(crate) terminated: Option<ContainerTerminated>,
}

#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ContainerWaiting {
    pub(crate) reason: String,
    pub(crate) message: String,
}

#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ContainerTerminated {
    pub(crate) exit_code: i64,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) finished_at: Option<String>,
}

#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ServiceView {
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: ServiceViewSpec,
}

#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ServiceViewSpec {
    #[serde(rename = "clusterIP")]
    pub(crate) cluster_ip: String,
}

#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct EndpointSliceView {
    pub(crate) metadata: ObjectMeta,
    pub(crate) endpoints: Option<Vec<SliceEndpoint>>,
}

impl EndpointSliceView {
    pub(crate) fn service(&self) -> Option<&str> {
        self.metadata.label("kubernetes.io/service-name")
    }

    pub(crate) fn ready_addresses(&self) -> impl Iterator<Item = &str> {
        let endpoints = self.endpoints.iter().flatten();
        // A missing condition counts as ready.
        let ready = endpoints.filter(|endpoint| endpoint.conditions.ready.unwrap_or(true));
        ready.flat_map(|endpoint| endpoint.addresses.iter().map(String::as_str))
    }
}

#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SliceEndpoint {
    pub(crate) addresses: Vec<String>,
    pub(crate) conditions: EndpointConditions,
}

#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct EndpointConditions {
    pub(crate) ready: Option<bool>,
}

#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct LeaseView {
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: LeaseSpec,
}

#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct LeaseSpec {
    pub(crate) holder_identity: Option<String>,
    pub(crate) lease_duration_seconds: Option<u64>,
    pub(crate) renew_time: Option<String>,
}

/// An object with a template.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ObjectView {
    pub(crate) metadata: ObjectMeta,
    /// All other fields.
    #[serde(flatten)]
    pub(crate) fields: serde_json::Map<String, Value>,
}

#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SecretView {
    pub(crate) metadata: ObjectMeta,
    pub(crate) data: BTreeMap<String, String>,
}

/// The part of a pod that refers to pull secrets.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PodPullSecrets {
    pub(crate) spec: PullSecretsSpec,
}

#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PullSecretsSpec {
    pub(crate) image_pull_secrets: Vec<PullSecretRef>,
}

#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PullSecretRef {
    pub(crate) name: String,
}

macro_rules! has_meta {
    ($($view:ty),*) => {
        $(impl WatchedObject for $view {
            fn version(&self) -> &str {
                &self.metadata.resource_version
            }
        })*
    };
}

has_meta!(
    PodView,
    ServiceView,
    EndpointSliceView,
    LeaseView,
    ObjectView,
    FunctionConfig
);
