//! The function before version 0.2, which was kustomize's transformer of common labels.
//!
//! Resources go through JSON on the way.

use std::collections::BTreeMap;

use kiln_krm::Resource;
use kiln_krm::meta::Meta;
use kiln_yaml::Document;

use super::common_labels::DEFAULTS;
use crate::function::{Context, Ending, Function, FunctionList};
use crate::port::kustomize::decode::{FieldShape, Shape, StructShape};
use crate::port::kustomize::{
    FieldSpec, PluginError, Release, SpecsField, read_plugin, set_entries, transform,
};
use crate::port::kyaml::data_map;

/// The function, by the release.
pub(super) struct SetLabels(pub(super) Release);

/// Why a configuration is refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
enum ConfigError {
    #[error("`functionConfig` must be either a `ConfigMap` or `SetLabels`")]
    Kind,
    #[error("function config must be a ConfigMap or SetLabelConfig")]
    FormerKind,
    #[error("input label list cannot be empty")]
    Empty,
    #[error(transparent)]
    Plugin(#[from] PluginError),
}

impl Function for SetLabels {
    fn run(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Ending {
        let config = read(self.0.see(list.config.as_ref()).as_ref(), self.0);
        let nothing = |_: &[Resource]| ();
        transform(
            list,
            ctx,
            self.0,
            config,
            nothing,
            |config, (), resource| {
                let (labels, additional) = config;
                let specs = additional.iter().chain(DEFAULTS);
                let specs: Vec<&FieldSpec> = specs.filter(|spec| spec.selects(resource)).collect();
                self.0.edit(resource, |document| {
                    let generation = self.0.generation();
                    set_entries(document, &specs, labels, generation, |_, _, _| {})
                })
            },
        )
    }
}

type Labels = BTreeMap<String, String>;

fn read(
    config: Option<&Document>,
    release: Release,
) -> Result<(Labels, Vec<FieldSpec>), ConfigError> {
    let wrong_kind = match release {
        Release::June => ConfigError::Kind,
        Release::April | Release::May => ConfigError::FormerKind,
    };
    let Some(document) = config else {
        return Err(wrong_kind);
    };
    let meta = Meta::of(document.root());
    let (labels, additional) = match (meta.api_version, meta.kind, release) {
        ("v1", "ConfigMap", _) => (data_map(config).into_iter().collect(), Vec::new()),
        ("fn.kpt.dev/v1alpha1", "SetLabelConfig", _)
        | ("fn.kpt.dev/v1alpha1", "SetLabels", Release::June) => {
            let (value, additional) = read_plugin(document, &PLUGIN, SPECS, release)?;
            (value.field_map("labels"), additional)
        }
        _ => return Err(wrong_kind),
    };
    match labels.is_empty() {
        true => Err(ConfigError::Empty),
        false => Ok((labels, additional)),
    }
}

const SPECS: SpecsField = SpecsField {
    name: "additionalLabelFields",
    advised: "additionalLabelFields",
};

static PLUGIN: StructShape = StructShape {
    name: "plugin",
    go_type: "main.plugin",
    fields: &[
        FieldShape::new("labels", Shape::TextMap),
        FieldShape::new("fieldSpecs", FieldSpec::SHAPE),
        FieldShape::new("additionalLabelFields", FieldSpec::SHAPE),
    ],
};
