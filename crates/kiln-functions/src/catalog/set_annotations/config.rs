//! What is to be set, and where.

use std::collections::BTreeMap;

use kiln_krm::meta::Meta;
use kiln_yaml::Document;

use crate::port::kustomize::decode::{FieldShape, Shape, StructShape};
use crate::port::kustomize::{FieldSpec, Generation, PluginError, SpecsField, read_plugin};
use crate::port::kyaml::data_map;

/// The configuration of a call.
pub(super) struct Config {
    pub(super) annotations: BTreeMap<String, String>,
    additional: Vec<FieldSpec>,
}

/// Why a configuration is refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum ConfigError {
    #[error("`functionConfig` must be a `ConfigMap` or `SetAnnotations`")]
    Kind,
    #[error("function config must be a ConfigMap or SetAnnotationConfig")]
    FormerKind,
    #[error("input annotation list cannot be empty")]
    Empty,
    #[error(transparent)]
    Plugin(#[from] PluginError),
}

impl Config {
    pub(super) fn read(
        config: Option<&Document>,
        generation: Generation,
    ) -> Result<Config, ConfigError> {
        let is_former = generation == Generation::March2021;
        let wrong_kind = match is_former {
            true => ConfigError::FormerKind,
            false => ConfigError::Kind,
        };
        let Some(document) = config else {
            return Err(wrong_kind);
        };
        let meta = Meta::of(document.root());
        let config = match (meta.api_version, meta.kind) {
            ("v1", "ConfigMap") => Config {
                annotations: data_map(config).into_iter().collect(),
                additional: Vec::new(),
            },
            ("fn.kpt.dev/v1alpha1", "SetAnnotations") if is_former => return Err(wrong_kind),
            ("fn.kpt.dev/v1alpha1", "SetAnnotations" | "SetAnnotationConfig") => {
                typed(document, generation)?
            }
            _ => return Err(wrong_kind),
        };
        match config.annotations.is_empty() {
            true => Err(ConfigError::Empty),
            false => Ok(config),
        }
    }

    /// Where annotations belong: what was asked for, then the usual places.
    pub(super) fn specs(&self) -> impl Iterator<Item = &FieldSpec> {
        self.additional.iter().chain(DEFAULTS)
    }
}

fn typed(document: &Document, generation: Generation) -> Result<Config, ConfigError> {
    let (value, additional) = read_plugin(document, &PLUGIN, SPECS, generation)?;
    Ok(Config {
        annotations: value.field_map("annotations"),
        additional,
    })
}

const SPECS: SpecsField = SpecsField {
    name: "additionalAnnotationFields",
    advised: "additionalAnnotationFields",
};

static PLUGIN: StructShape = StructShape {
    name: "plugin",
    go_type: "main.plugin",
    fields: &[
        FieldShape::new("annotations", Shape::TextMap),
        FieldShape::new("fieldSpecs", FieldSpec::SHAPE),
        FieldShape::new("additionalAnnotationFields", FieldSpec::SHAPE),
    ],
};

const TEMPLATE: &str = "spec/template/metadata/annotations";

static DEFAULTS: &[FieldSpec] = &[
    FieldSpec::new("", "", "", "metadata/annotations", true),
    FieldSpec::new("", "v1", "ReplicationController", TEMPLATE, true),
    FieldSpec::new("", "", "Deployment", TEMPLATE, true),
    FieldSpec::new("", "", "ReplicaSet", TEMPLATE, true),
    FieldSpec::new("", "", "DaemonSet", TEMPLATE, true),
    FieldSpec::new("", "", "StatefulSet", TEMPLATE, true),
    FieldSpec::new("batch", "", "Job", TEMPLATE, true),
    FieldSpec::new(
        "batch",
        "",
        "CronJob",
        "spec/jobTemplate/metadata/annotations",
        true,
    ),
    FieldSpec::new(
        "batch",
        "",
        "CronJob",
        "spec/jobTemplate/spec/template/metadata/annotations",
        true,
    ),
];
