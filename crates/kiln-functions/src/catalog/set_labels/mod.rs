//! `set-labels`: sets labels on resources, and in selectors of other resources.

mod common_labels;
mod kinds;
mod kustomize;
mod v0_2;

use crate::port::go_sdk::Formatting;
use crate::port::kustomize::TransformerRelease;
use crate::registry::{FunctionInfo, FunctionVersion};
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};
use kustomize::TransformerSetLabels;

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "set-labels",
    former_names: &["set-label"],
    summary: "Sets labels on resources, their selectors and their pod templates",
    doc: include_str!("doc.md"),
    versions: &[
        FunctionVersion {
            tags: &["v0.1.0", "v0.1.1", "v0.1.2"],
            sdk: transformer("set-label"),
            function: &TransformerSetLabels(TransformerRelease::Kyaml0_10_5),
        },
        FunctionVersion {
            tags: &["v0.1.3"],
            sdk: transformer("set-labels"),
            function: &TransformerSetLabels(TransformerRelease::Kyaml0_10_5),
        },
        FunctionVersion {
            tags: &["v0.1.4"],
            sdk: transformer("set-labels"),
            function: &TransformerSetLabels(TransformerRelease::Kyaml0_10_20),
        },
        FunctionVersion {
            tags: &["v0.1.5"],
            sdk: transformer("set-labels"),
            function: &TransformerSetLabels(TransformerRelease::Kyaml0_10_21),
        },
        FunctionVersion {
            tags: &["v0.2.0", "v0.2.1", "v0.2.2", "unstable"],
            sdk: Sdk::Go,
            function: &v0_2::SetLabels {
                formatting: Formatting::Comments,
            },
        },
        FunctionVersion {
            tags: &["v0.2.3", "v0.2.4", "v0.2.5", "latest"],
            sdk: Sdk::Go,
            function: &v0_2::SetLabels {
                formatting: Formatting::CommentsAndStyle,
            },
        },
    ],
};

const fn transformer(name: &'static str) -> Sdk {
    Sdk::Kyaml {
        results: ResultsForm::Object(name),
        errors: ErrorsPrinted::Once,
    }
}
