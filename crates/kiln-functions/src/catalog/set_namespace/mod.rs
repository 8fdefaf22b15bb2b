//! `set-namespace`: the namespace of resources, and what refers to it.

mod config;
mod depends_on;
mod kustomize;
mod v0_3_0;
mod v0_4_0;
mod v0_4_2;
mod visit;

use crate::port::go_sdk::Formatting;
use crate::port::kustomize::Release;
use crate::registry::{Behaviour, FunctionInfo};
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};
use v0_3_0::Edition;
use v0_4_2::{SetNamespace, Webhooks};

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "set-namespace",
    former_names: &[],
    summary: "Replaces the namespace of resources and of what refers to it",
    doc: include_str!("doc.md"),
    behaviours: &[
        Behaviour {
            tags: &["v0.1.0", "v0.1.1", "v0.1.2"],
            sdk: TRANSFORMER,
            function: &kustomize::SetNamespace::V0_1(Release::April),
        },
        Behaviour {
            tags: &["v0.1.3"],
            sdk: TRANSFORMER,
            function: &kustomize::SetNamespace::V0_1(Release::May),
        },
        Behaviour {
            tags: &["v0.1.4"],
            sdk: TRANSFORMER,
            function: &kustomize::SetNamespace::V0_1(Release::June),
        },
        Behaviour {
            tags: &["v0.2.0"],
            sdk: TRANSFORMER,
            function: &kustomize::SetNamespace::V0_2,
        },
        Behaviour {
            tags: &["v0.3.0", "v0.3.1"],
            sdk: Sdk::SilentGo,
            function: &v0_3_0::SetNamespace(Edition::First),
        },
        Behaviour {
            tags: &["v0.3.2"],
            sdk: Sdk::SilentGo,
            function: &v0_3_0::SetNamespace(Edition::Second),
        },
        Behaviour {
            tags: &["v0.3.3"],
            sdk: Sdk::SilentGo,
            function: &v0_3_0::SetNamespace(Edition::Third),
        },
        Behaviour {
            tags: &["v0.3.4"],
            sdk: Sdk::SilentGo,
            function: &v0_3_0::SetNamespace(Edition::Fourth),
        },
        Behaviour {
            tags: &["v0.4.0"],
            sdk: Sdk::SilentGo,
            function: &v0_4_0::SetNamespace,
        },
        Behaviour {
            tags: &["v0.4.1"],
            sdk: Sdk::Go,
            function: &v0_4_0::SetNamespace,
        },
        Behaviour {
            tags: &["v0.4.2", "unstable"],
            sdk: Sdk::Go,
            function: &SetNamespace {
                formatting: Formatting::Comments,
                asks_for_origins: true,
                fails_without_config: false,
                webhooks: Webhooks::Always,
            },
        },
        Behaviour {
            tags: &["v0.4.3", "v0.4.5"],
            sdk: Sdk::Go,
            function: &SetNamespace {
                formatting: Formatting::CommentsAndStyle,
                asks_for_origins: false,
                fails_without_config: false,
                webhooks: Webhooks::Always,
            },
        },
        Behaviour {
            tags: &["latest"],
            sdk: Sdk::Go,
            function: &SetNamespace {
                formatting: Formatting::CommentsAndStyle,
                asks_for_origins: false,
                fails_without_config: true,
                webhooks: Webhooks::IfNamed,
            },
        },
    ],
};

const TRANSFORMER: Sdk = Sdk::Kyaml {
    results: ResultsForm::Object("set-namespace"),
    errors: ErrorsPrinted::Once,
};
