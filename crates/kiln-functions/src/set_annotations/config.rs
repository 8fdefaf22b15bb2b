//! What is to be set, and where.

use std::collections::BTreeMap;

use kiln_krm::meta::Meta;
use kiln_yaml::{Document, SequenceStyle, go_quote};

use crate::kustomize::FieldSpec;
use crate::kustomize::decode::{DecodeError, FieldShape, Reader, Shape, StructShape, decode};
use crate::sdk::kyaml::data_map;

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
    #[error("input annotation list cannot be empty")]
    Empty,
    #[error(
        "failed to unmarshal config {text}: error unmarshaling JSON: while decoding JSON: {error}"
    )]
    Type { text: String, error: DecodeError },
    #[error("`fieldSpecs` has been deprecated, please rename it to `additionalAnnotationFields`")]
    BothFields,
}

impl Config {
    pub(super) fn read(config: Option<&Document>) -> Result<Config, ConfigError> {
        let Some(document) = config else {
            return Err(ConfigError::Kind);
        };
        let meta = Meta::of(document.root());
        let config = match (meta.api_version, meta.kind) {
            ("v1", "ConfigMap") => Config {
                annotations: data_map(config).into_iter().collect(),
                additional: Vec::new(),
            },
            ("fn.kpt.dev/v1alpha1", "SetAnnotations" | "SetAnnotationConfig") => typed(document)?,
            _ => return Err(ConfigError::Kind),
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

fn typed(document: &Document) -> Result<Config, ConfigError> {
    let value = decode(document, &PLUGIN, Reader::Kubernetes).map_err(|error| {
        let text = kiln_yaml::to_string(document, SequenceStyle::Compact);
        let text = go_quote(&text);
        ConfigError::Type { text, error }
    })?;
    let additional = FieldSpec::list(value.field("additionalAnnotationFields"));
    let additional = match (additional, FieldSpec::list(value.field("fieldSpecs"))) {
        (Some(_), Some(_)) => return Err(ConfigError::BothFields),
        (additional, former) => additional.or(former).unwrap_or_default(),
    };
    Ok(Config {
        annotations: value.field_map("annotations"),
        additional,
    })
}

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
