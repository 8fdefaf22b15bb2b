//! Objects of Kubernetes, as much of them as this program looks at.
//!
//! Watches deliver whole objects; only these parts are ever made of them, so that a hundred pods take little room.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::function_config::FunctionConfig;
use crate::watch::View;

/// Who an object is.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Meta {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) resource_version: String,
    pub(crate) deletion_timestamp: Option<String>,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) annotations: BTreeMap<String, String>,
}

impl Meta {
    pub(crate) fn label(&self, key: &str) -> Option<&str> {
        self.labels.get(key).map(String::as_str)
    }

    pub(crate) fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.get(key).map(String::as_str)
    }
}

/// A pod.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PodView {
    pub(crate) metadata: Meta,
    pub(crate) status: PodStatus,
}

/// How a pod is.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodStatus {
    pub(crate) phase: String,
    pub(crate) reason: String,
    pub(crate) message: String,
    #[serde(rename = "podIP")]
    pub(crate) pod_ip: String,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) init_container_statuses: Vec<ContainerStatus>,
    pub(crate) container_statuses: Vec<ContainerStatus>,
}

/// Something that is so or not.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Condition {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) status: String,
    pub(crate) reason: String,
    pub(crate) message: String,
}

/// How a container is.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ContainerStatus {
    pub(crate) name: String,
    pub(crate) state: ContainerState,
    pub(crate) last_state: ContainerState,
}

/// What a container does; one of them or none.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ContainerState {
    pub(crate) waiting: Option<Waiting>,
    pub(crate) terminated: Option<Terminated>,
}

/// Why a container waits.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Waiting {
    pub(crate) reason: String,
    pub(crate) message: String,
}

/// How a container ended.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Terminated {
    pub(crate) exit_code: i64,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) finished_at: Option<String>,
}

/// A service.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ServiceView {
    pub(crate) metadata: Meta,
    pub(crate) spec: ServiceSpec,
}

/// Where a service is.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ServiceSpec {
    #[serde(rename = "clusterIP")]
    pub(crate) cluster_ip: String,
}

/// A part of what is behind a service.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct EndpointSliceView {
    pub(crate) metadata: Meta,
    pub(crate) endpoints: Option<Vec<Endpoint>>,
}

impl EndpointSliceView {
    /// The service it belongs to.
    pub(crate) fn service(&self) -> Option<&str> {
        self.metadata.label("kubernetes.io/service-name")
    }

    /// The addresses that take calls.
    pub(crate) fn ready_addresses(&self) -> impl Iterator<Item = &str> {
        let endpoints = self.endpoints.iter().flatten();
        // What is not said is so.
        let ready = endpoints.filter(|endpoint| endpoint.conditions.ready.unwrap_or(true));
        ready.flat_map(|endpoint| endpoint.addresses.iter().map(String::as_str))
    }
}

/// One of those behind a service.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Endpoint {
    pub(crate) addresses: Vec<String>,
    pub(crate) conditions: EndpointConditions,
}

/// Whether it takes calls.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct EndpointConditions {
    pub(crate) ready: Option<bool>,
}

/// A lease.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct LeaseView {
    pub(crate) metadata: Meta,
    pub(crate) spec: LeaseSpec,
}

/// Whose life a lease is.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct LeaseSpec {
    pub(crate) holder_identity: Option<String>,
    pub(crate) lease_duration_seconds: Option<u64>,
    pub(crate) renew_time: Option<String>,
}

/// An object that somebody has written for us: a template.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ObjectView {
    pub(crate) metadata: Meta,
    /// Everything else.
    #[serde(flatten)]
    pub(crate) fields: serde_json::Map<String, Value>,
}

/// A secret.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SecretView {
    pub(crate) metadata: Meta,
    pub(crate) data: BTreeMap<String, String>,
}

/// A pod, and what its images are pulled with.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PullingPod {
    pub(crate) spec: PullingSpec,
}

/// What images are pulled with.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PullingSpec {
    pub(crate) image_pull_secrets: Vec<SecretName>,
}

/// A secret by name.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SecretName {
    pub(crate) name: String,
}

macro_rules! has_meta {
    ($($view:ty),*) => {
        $(impl View for $view {
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
