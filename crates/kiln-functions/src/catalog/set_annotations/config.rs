//! The annotations, and the fields that get them.

use std::collections::BTreeMap;

use kiln_krm::meta::Meta;
use kiln_yaml::Document;

use crate::port::kustomize::decode::{ConfigShape, FieldShape, StructShape};
use crate::port::kustomize::{FieldSpec, KustomizeRelease, PluginError, SpecsField, read_plugin};
use crate::port::kyaml::data_map;

pub(super) struct SetAnnotationsConfig {
    pub(super) annotations: BTreeMap<String, String>,
    additional: Vec<FieldSpec>,
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum SetAnnotationsConfigError {
    #[error("`functionConfig` must be a `ConfigMap` or `SetAnnotations`")]
    Kind,
    #[error("function config must be a ConfigMap or SetAnnotationConfig")]
    FormerKind,
    #[error("input annotation list cannot be empty")]
    Empty,
    #[error(transparent)]
    Plugin(#[from] PluginError),
}

impl SetAnnotationsConfig {
    pub(super) fn read(
        config: Option<&Document>,
        kustomize: KustomizeRelease,
    ) -> Result<SetAnnotationsConfig, SetAnnotationsConfigError> {
        let is_former = kustomize == KustomizeRelease::Api0_7;
        let wrong_kind = match is_former {
            true => SetAnnotationsConfigError::FormerKind,
            false => SetAnnotationsConfigError::Kind,
        };
        let Some(document) = config else {
            return Err(wrong_kind);
        };
        let meta = Meta::of(document.root());
        let config = match (meta.api_version, meta.kind) {
            ("v1", "ConfigMap") => SetAnnotationsConfig {
                annotations: data_map(config).into_iter().collect(),
                additional: Vec::new(),
            },
            ("fn.kpt.dev/v1alpha1", "SetAnnotations") if is_former => return Err(wrong_kind),
            ("fn.kpt.dev/v1alpha1", "SetAnnotations" | "SetAnnotationConfig") => {
                typed(document, kustomize)?
            }
            _ => return Err(wrong_kind),
        };
        match config.annotations.is_empty() {
            true => Err(SetAnnotationsConfigError::Empty),
            false => Ok(config),
        }
    }

    /// The fields with annotations: the additional ones, then the defaults.
    pub(super) fn specs(&self) -> impl Iterator<Item = &FieldSpec> {
        self.additional.iter().chain(DEFAULTS)
    }
}

fn typed(
    document: &Document,
    kustomize: KustomizeRelease,
) -> Result<SetAnnotationsConfig, SetAnnotationsConfigError> {
    let (value, additional) = read_plugin(document, &PLUGIN, SPECS, kustomize)?;
    Ok(SetAnnotationsConfig {
        annotations: value.field_map("annotations"),
        additional,
    })
}

const SPECS: SpecsField = SpecsField {
    name: "additionalAnnotationFields",
    advised: "additionalAnnotationFields",
};

static PLUGIN: StructShape = StructShape {
    go_type: "main.plugin",
    fields: &[
        FieldShape::new("annotations", ConfigShape::TextMap),
        FieldShape::new("fieldSpecs", FieldSpec::SHAPE),
        FieldShape::new("additionalAnnotationFields", FieldSpec::SHAPE),
    ],
};

const TEMPLATE: &str = "spec/template/metadata/annotations";
const JOB: &str = "spec/jobTemplate/metadata/annotations";
const JOB_TEMPLATE: &str = "spec/jobTemplate/spec/template/metadata/annotations";

static DEFAULTS: &[FieldSpec] = &[
    FieldSpec::new("", "", "", "metadata/annotations", true),
    FieldSpec::new("", "v1", "ReplicationController", TEMPLATE, true),
    FieldSpec::new("", "", "Deployment", TEMPLATE, true),
    FieldSpec::new("", "", "ReplicaSet", TEMPLATE, true),
    FieldSpec::new("", "", "DaemonSet", TEMPLATE, true),
    FieldSpec::new("", "", "StatefulSet", TEMPLATE, true),
    FieldSpec::new("batch", "", "Job", TEMPLATE, true),
    FieldSpec::new("batch", "", "CronJob", JOB, true),
    FieldSpec::new("batch", "", "CronJob", JOB_TEMPLATE, true),
];
