//! The types that the formatter uses: those of Kubernetes in the kyaml that a function was built with.
//!
//! Newer kyaml contains v1.21.2, older kyaml v1.20.4. The latter lacks [`NEW_FIELDS`] and [`NEW_RESOURCES`] and has
//! one field that was removed.

use std::collections::HashSet;
use std::sync::OnceLock;

use kiln_krm::schema::{Schema, Shape};
use kiln_yaml::{ListKeys, TypeId};

use super::super::config::KyamlRelease;

#[derive(Clone, Copy)]
pub(crate) struct Types {
    schema: &'static Schema,
    /// Fields of v1.21.2 that v1.20.4 lacks.
    unknown: Option<&'static HashSet<(TypeId, &'static str)>>,
}

impl Types {
    pub(crate) fn of(release: KyamlRelease) -> Types {
        static NEW: OnceLock<HashSet<(TypeId, &'static str)>> = OnceLock::new();
        let schema = Schema::builtin();
        let unknown = (release == KyamlRelease::V0_10).then(|| {
            NEW.get_or_init(|| {
                let names = NEW_FIELDS.iter();
                let known = names.filter_map(|(of, field)| Some((schema.named(of)?, *field)));
                known.collect()
            })
        });
        Types { schema, unknown }
    }

    /// The type of a scalar; `None` if the type does not determine it.
    pub(super) fn scalar(&self, of: TypeId) -> Option<ScalarType> {
        match self.schema.shape(of) {
            Shape::String => Some(ScalarType::String),
            Shape::Integer => Some(ScalarType::Other("!!int")),
            Shape::Boolean => Some(ScalarType::Other("!!bool")),
            Shape::Number => Some(ScalarType::Other("!!float")),
            _ => None,
        }
    }

    pub(super) fn resource(&self, api_version: &str, kind: &str) -> Option<TypeId> {
        let is_new = |(new_version, kinds): &(&str, &[&str])| {
            *new_version == api_version && kinds.contains(&kind)
        };
        // A type that several groups share was known for none of them.
        let is_shared = ["DeleteOptions", "WatchEvent"].contains(&kind);
        if self.unknown.is_some() && (is_shared || NEW_RESOURCES.iter().any(is_new)) {
            return None;
        }
        self.schema.resource(api_version, kind)
    }

    pub(super) fn field(&self, of: TypeId, name: &str) -> Option<TypeId> {
        if self.unknown.is_some_and(|new| new.contains(&(of, name))) {
            return None;
        }
        let (holder, former) = GONE_FIELD;
        if self.unknown.is_some() && name == former && self.schema.named(holder) == Some(of) {
            // The removed field: whether a volume is read-only, as elsewhere.
            let volume = self.schema.named("io.k8s.api.core.v1.CSIVolumeSource")?;
            return self.schema.field(volume, former);
        }
        self.schema.field(of, name)
    }

    pub(super) fn item(&self, of: TypeId) -> Option<TypeId> {
        self.schema.item(of)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ScalarType {
    String,
    /// A scalar with this tag.
    Other(&'static str),
}

const GONE_FIELD: (&str, &str) = ("io.k8s.api.core.v1.EphemeralVolumeSource", "readOnly");

const NEW_RESOURCES: &[(&str, &[&str])] = &[
    ("batch/v1", &["CronJob", "CronJobList"]),
    (
        "discovery.k8s.io/v1",
        &["EndpointSlice", "EndpointSliceList"],
    ),
    (
        "policy/v1",
        &["PodDisruptionBudget", "PodDisruptionBudgetList"],
    ),
    (
        "storage.k8s.io/v1beta1",
        &["CSIStorageCapacity", "CSIStorageCapacityList"],
    ),
];

const NEW_FIELDS: &[(&str, &str)] = &[
    ("io.k8s.api.apps.v1.RollingUpdateDaemonSet", "maxSurge"),
    ("io.k8s.api.batch.v1.JobSpec", "completionMode"),
    ("io.k8s.api.batch.v1.JobSpec", "suspend"),
    ("io.k8s.api.batch.v1.JobStatus", "completedIndexes"),
    (
        "io.k8s.api.batch.v1beta1.CronJobStatus",
        "lastSuccessfulTime",
    ),
    ("io.k8s.api.core.v1.PodAffinityTerm", "namespaceSelector"),
    ("io.k8s.api.core.v1.Probe", "terminationGracePeriodSeconds"),
    ("io.k8s.api.core.v1.ServiceSpec", "internalTrafficPolicy"),
    ("io.k8s.api.core.v1.ServiceSpec", "loadBalancerClass"),
    ("io.k8s.api.discovery.v1beta1.Endpoint", "hints"),
    (
        "io.k8s.api.networking.v1.IngressClassParametersReference",
        "namespace",
    ),
    (
        "io.k8s.api.networking.v1.IngressClassParametersReference",
        "scope",
    ),
    (
        "io.k8s.api.networking.v1beta1.IngressClassParametersReference",
        "namespace",
    ),
    (
        "io.k8s.api.networking.v1beta1.IngressClassParametersReference",
        "scope",
    ),
    ("io.k8s.api.networking.v1.NetworkPolicyPort", "endPort"),
    (
        "io.k8s.api.policy.v1beta1.PodDisruptionBudgetStatus",
        "conditions",
    ),
];
