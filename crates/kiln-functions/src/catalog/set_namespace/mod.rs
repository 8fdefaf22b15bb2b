//! `set-namespace`: sets the namespace of resources and of references to it.

mod config;
mod depends_on;
mod kustomize;
mod v0_3_0;
mod v0_4_0;
mod v0_4_2;
mod visit;

use crate::port::go_sdk::Formatting;
use crate::port::kustomize::TransformerRelease;
use crate::registry::{FunctionInfo, FunctionVersion};
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};
use kustomize::TransformerSetNamespace;
use v0_3_0::{SetNamespaceRelease, SetNamespaceV0_3};
use v0_4_0::SetNamespaceV0_4_0;
use v0_4_2::{SetNamespaceV0_4_2, Webhooks};

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "set-namespace",
    former_names: &[],
    summary: "Replaces the namespace of resources and of references to it",
    doc: include_str!("doc.md"),
    versions: &[
        FunctionVersion::new(
            &["v0.1.0", "v0.1.1", "v0.1.2"],
            TRANSFORMER,
            &TransformerSetNamespace::V0_1(TransformerRelease::Kyaml0_10_5),
        ),
        FunctionVersion::new(
            &["v0.1.3"],
            TRANSFORMER,
            &TransformerSetNamespace::V0_1(TransformerRelease::Kyaml0_10_20),
        ),
        FunctionVersion::new(
            &["v0.1.4"],
            TRANSFORMER,
            &TransformerSetNamespace::V0_1(TransformerRelease::Kyaml0_10_21),
        ),
        FunctionVersion::new(&["v0.2.0"], TRANSFORMER, &TransformerSetNamespace::V0_2),
        FunctionVersion::new(
            &["v0.3.0", "v0.3.1"],
            Sdk::SilentGo,
            &SetNamespaceV0_3(SetNamespaceRelease::V0_3_0),
        ),
        FunctionVersion::new(
            &["v0.3.2"],
            Sdk::SilentGo,
            &SetNamespaceV0_3(SetNamespaceRelease::V0_3_2),
        ),
        FunctionVersion::new(
            &["v0.3.3"],
            Sdk::SilentGo,
            &SetNamespaceV0_3(SetNamespaceRelease::V0_3_3),
        ),
        FunctionVersion::new(
            &["v0.3.4"],
            Sdk::SilentGo,
            &SetNamespaceV0_3(SetNamespaceRelease::V0_3_4),
        ),
        FunctionVersion::new(&["v0.4.0"], Sdk::SilentGo, &SetNamespaceV0_4_0),
        FunctionVersion::new(&["v0.4.1"], Sdk::Go, &SetNamespaceV0_4_0),
        FunctionVersion::new(
            &["v0.4.2", "unstable"],
            Sdk::Go,
            &SetNamespaceV0_4_2 {
                formatting: Formatting::Comments,
                asks_for_origins: true,
                fails_without_config: false,
                webhooks: Webhooks::Always,
            },
        ),
        FunctionVersion::new(
            &["v0.4.3", "v0.4.5"],
            Sdk::Go,
            &SetNamespaceV0_4_2 {
                formatting: Formatting::CommentsAndStyle,
                asks_for_origins: false,
                fails_without_config: false,
                webhooks: Webhooks::Always,
            },
        ),
        FunctionVersion::new(
            &["latest"],
            Sdk::Go,
            &SetNamespaceV0_4_2 {
                formatting: Formatting::CommentsAndStyle,
                asks_for_origins: false,
                fails_without_config: true,
                webhooks: Webhooks::IfNamed,
            },
        ),
    ],
};

const TRANSFORMER: Sdk = Sdk::Kyaml(ResultsForm::Object("set-namespace"), ErrorsPrinted::Once);
