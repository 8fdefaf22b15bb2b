//! The function before v0.2: kustomize's transformer of common labels. Resources pass through JSON.

use std::collections::BTreeMap;

use kiln_krm::Resource;
use kiln_krm::meta::Meta;
use kiln_yaml::Document;

use super::common_labels::DEFAULTS;
use crate::function::{Context, Ending, Function, FunctionList};
use crate::port::kustomize::decode::{ConfigShape, FieldShape, StructShape};
use crate::port::kustomize::{
    FieldSpec, PluginError, SpecsField, TransformerRelease, read_plugin, set_entries, transform,
};
use crate::port::kyaml::data_map;

pub(super) struct TransformerSetLabels(pub(super) TransformerRelease);

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
enum SetLabelsConfigError {
    #[error("`functionConfig` must be either a `ConfigMap` or `SetLabels`")]
    Kind,
    #[error("function config must be a ConfigMap or SetLabelConfig")]
    FormerKind,
    #[error("input label list cannot be empty")]
    Empty,
    #[error(transparent)]
    Plugin(#[from] PluginError),
}

impl Function for TransformerSetLabels {
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
                    let kustomize = self.0.kustomize();
                    set_entries(document, &specs, labels, kustomize, |_, _, _| {})
                })
            },
        )
    }

    fn rewrites_text(&self) -> bool {
        true
    }
}

type Labels = BTreeMap<String, String>;

fn read(
    config: Option<&Document>,
    release: TransformerRelease,
) -> Result<(Labels, Vec<FieldSpec>), SetLabelsConfigError> {
    let wrong_kind = match release {
        TransformerRelease::Kyaml0_10_21 => SetLabelsConfigError::Kind,
        TransformerRelease::Kyaml0_10_5 | TransformerRelease::Kyaml0_10_20 => {
            SetLabelsConfigError::FormerKind
        }
    };
    let Some(document) = config else {
        return Err(wrong_kind);
    };
    let meta = Meta::of(document.root());
    let (labels, additional) = match (meta.api_version, meta.kind, release) {
        ("v1", "ConfigMap", _) => (data_map(config).into_iter().collect(), Vec::new()),
        ("fn.kpt.dev/v1alpha1", "SetLabelConfig", _)
        | ("fn.kpt.dev/v1alpha1", "SetLabels", TransformerRelease::Kyaml0_10_21) => {
            let (value, additional) = read_plugin(document, &PLUGIN, SPECS, release)?;
            (value.field_map("labels"), additional)
        }
        _ => return Err(wrong_kind),
    };
    match labels.is_empty() {
        true => Err(SetLabelsConfigError::Empty),
        false => Ok((labels, additional)),
    }
}

const SPECS: SpecsField = SpecsField {
    name: "additionalLabelFields",
    advised: "additionalLabelFields",
};

static PLUGIN: StructShape = StructShape {
    go_type: "main.plugin",
    fields: &[
        FieldShape::new("labels", ConfigShape::TextMap),
        FieldShape::new("fieldSpecs", FieldSpec::SHAPE),
        FieldShape::new("additionalLabelFields", FieldSpec::SHAPE),
    ],
};
