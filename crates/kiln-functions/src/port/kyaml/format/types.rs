//! The types that the formatter knows: those of Kubernetes as the kyaml has them that a function was built with.
//!
//! Newer kyaml has v1.21.2 built in, older kyaml v1.20.4, which is the same but for what [`NEW_FIELDS`] and
//! [`NEW_RESOURCES`] name and for one field that has gone since.

use std::collections::HashSet;
use std::sync::OnceLock;

use kiln_krm::schema::{Schema, Shape};
use kiln_yaml::{ListKeys, TypeId};

use super::super::config::Generation;

/// The types of a generation of kyaml.
#[derive(Clone, Copy)]
pub(crate) struct Types {
    schema: &'static Schema,
    /// Fields of v1.21.2 that are not known.
    unknown: Option<&'static HashSet<(TypeId, &'static str)>>,
}

impl Types {
    /// What is known to the functions of a generation.
    pub(crate) fn of(generation: Generation) -> Types {
        static NEW: OnceLock<HashSet<(TypeId, &'static str)>> = OnceLock::new();
        let schema = Schema::builtin();
        let unknown = (generation == Generation::First).then(|| {
            NEW.get_or_init(|| {
                let names = NEW_FIELDS.iter();
                let known = names.filter_map(|(of, field)| Some((schema.named(of)?, *field)));
                known.collect()
            })
        });
        Types { schema, unknown }
    }

    /// What a scalar of a type is; none if the type says nothing about scalars.
    pub(super) fn scalar(&self, of: TypeId) -> Option<Scalar> {
        match self.schema.shape(of) {
            Shape::String => Some(Scalar::String),
            Shape::Integer => Some(Scalar::Other("!!int")),
            Shape::Boolean => Some(Scalar::Other("!!bool")),
            Shape::Number => Some(Scalar::Other("!!float")),
            _ => None,
        }
    }

    pub(super) fn resource(&self, api_version: &str, kind: &str) -> Option<TypeId> {
        let is_new = |(new_version, kinds): &(&str, &[&str])| {
            *new_version == api_version && kinds.contains(&kind)
        };
        // A type that stands for resources of several groups was known to none of them.
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
            // It said whether a volume can be written to, as it still does elsewhere.
            let volume = self.schema.named("io.k8s.api.core.v1.CSIVolumeSource")?;
            return self.schema.field(volume, former);
        }
        self.schema.field(of, name)
    }

    pub(super) fn item(&self, of: TypeId) -> Option<TypeId> {
        self.schema.item(of)
    }
}

/// What a type says about scalars.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Scalar {
    /// Text.
    String,
    /// Something with this tag.
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
