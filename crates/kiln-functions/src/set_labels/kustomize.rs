//! The function before version 0.2, which was kustomize's transformer of common labels.
//!
//! Resources go through JSON on the way.

use std::collections::BTreeMap;

use kiln_krm::Resource;
use kiln_krm::meta::Meta;
use kiln_yaml::Document;

use super::common_labels::DEFAULTS;
use crate::function::{Context, Ending, Function, FunctionList};
use crate::kustomize::decode::{FieldShape, Shape, StructShape};
use crate::kustomize::{
    FieldSpec, FilterError, Generation, Marks, PluginError, SpecsField, check_resources, fail,
    read_plugin, set_entries, through_json,
};
use crate::sdk::kyaml::data_map;

pub(super) struct SetLabels;

const GENERATION: Generation = Generation::June2021;

/// Why a configuration is refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
enum ConfigError {
    #[error("`functionConfig` must be either a `ConfigMap` or `SetLabels`")]
    Kind,
    #[error("input label list cannot be empty")]
    Empty,
    #[error(transparent)]
    Plugin(#[from] PluginError),
}

impl Function for SetLabels {
    fn run(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Ending {
        let (labels, additional) = match read(list.config.as_ref()) {
            Ok(config) => config,
            Err(error) => {
                let error = format!("failed to configure function: {error}");
                return fail(list, GENERATION, error);
            }
        };
        if let Err(error) = check_resources(&mut list.items, Marks::Nothing, GENERATION) {
            list.items.clear();
            return fail(list, GENERATION, format!("failed to run function: {error}"));
        }
        for resource in &mut list.items {
            if let Err(stopped) = ctx.check() {
                return stopped.into();
            }
            if let Err(error) = label(resource, &labels, &additional) {
                list.items.clear();
                let error = format!("failed to run function: failed to run transformer: {error}");
                return fail(list, GENERATION, error);
            }
        }
        list.unsettled = (0..list.items.len()).collect();
        Ending::Success
    }
}

fn label(
    resource: &mut Resource,
    labels: &BTreeMap<String, String>,
    additional: &[FieldSpec],
) -> Result<(), FilterError> {
    let specs = additional.iter().chain(DEFAULTS);
    let specs: Vec<&FieldSpec> = specs.filter(|spec| spec.selects(resource)).collect();
    let document = through_json(resource.document(), |document| {
        set_entries(document, &specs, labels, GENERATION, |_, _, _| {})
    })?;
    *resource.document_mut() = document;
    Ok(())
}

type Labels = BTreeMap<String, String>;

fn read(config: Option<&Document>) -> Result<(Labels, Vec<FieldSpec>), ConfigError> {
    let Some(document) = config else {
        return Err(ConfigError::Kind);
    };
    let meta = Meta::of(document.root());
    let (labels, additional) = match (meta.api_version, meta.kind) {
        ("v1", "ConfigMap") => (data_map(config).into_iter().collect(), Vec::new()),
        ("fn.kpt.dev/v1alpha1", "SetLabels" | "SetLabelConfig") => {
            let (value, additional) = read_plugin(document, &PLUGIN, SPECS, GENERATION)?;
            (value.field_map("labels"), additional)
        }
        _ => return Err(ConfigError::Kind),
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
