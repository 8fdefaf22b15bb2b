//! `set-labels`: labels on resources, and wherever other resources select by them.

mod common_labels;
mod kinds;
mod kustomize;
mod v0_2;

use crate::registry::{Behaviour, FunctionInfo};
use crate::sdk::go::Formatting;
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "set-labels",
    former_names: &["set-label"],
    summary: "Sets labels on resources, their selectors and their pod templates",
    doc: include_str!("doc.md"),
    behaviours: &[
        Behaviour {
            tags: &["v0.1.5"],
            sdk: Sdk::Kyaml {
                results: ResultsForm::Object("set-labels"),
                errors: ErrorsPrinted::Once,
            },
            function: &kustomize::SetLabels,
        },
        Behaviour {
            tags: &["v0.2.0", "v0.2.1", "v0.2.2", "unstable"],
            sdk: Sdk::Go,
            function: &v0_2::SetLabels {
                formatting: Formatting::Comments,
            },
        },
        Behaviour {
            tags: &["v0.2.3", "v0.2.4", "v0.2.5", "latest"],
            sdk: Sdk::Go,
            function: &v0_2::SetLabels {
                formatting: Formatting::CommentsAndStyle,
            },
        },
    ],
};
