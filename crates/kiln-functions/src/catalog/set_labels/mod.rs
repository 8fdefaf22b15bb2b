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
        FunctionVersion::new(
            &["v0.1.0", "v0.1.1", "v0.1.2"],
            transformer("set-label"),
            &TransformerSetLabels(TransformerRelease::Kyaml0_10_5),
        ),
        FunctionVersion::new(
            &["v0.1.3"],
            transformer("set-labels"),
            &TransformerSetLabels(TransformerRelease::Kyaml0_10_5),
        ),
        FunctionVersion::new(
            &["v0.1.4"],
            transformer("set-labels"),
            &TransformerSetLabels(TransformerRelease::Kyaml0_10_20),
        ),
        FunctionVersion::new(
            &["v0.1.5"],
            transformer("set-labels"),
            &TransformerSetLabels(TransformerRelease::Kyaml0_10_21),
        ),
        FunctionVersion::new(
            &["v0.2.0", "v0.2.1", "v0.2.2", "unstable"],
            Sdk::Go,
            &v0_2::SetLabels {
                formatting: Formatting::Comments,
            },
        ),
        FunctionVersion::new(
            &["v0.2.3", "v0.2.4", "v0.2.5", "latest"],
            Sdk::Go,
            &v0_2::SetLabels {
                formatting: Formatting::CommentsAndStyle,
            },
        ),
    ],
};

const fn transformer(name: &'static str) -> Sdk {
    Sdk::Kyaml(ResultsForm::Object(name), ErrorsPrinted::Once)
}
