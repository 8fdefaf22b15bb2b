//! What people are told about list-setters, and its versions.

use super::kptfile::Kptfiles;
use super::{ListSetters, WithoutSetters};
use crate::registry::{Behaviour, FunctionInfo};
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "list-setters",
    former_names: &[],
    summary: "Reports the setters of a package",
    doc: "\
Reports each setter that a `# kpt-set:` comment names, with the value it stands for, the type of the value and the number
of fields that use it. Setters that the pipeline of the root package declares are reported even if nothing uses them; for
that the Kptfile must be among the resources. Nothing is changed. It takes no configuration.

    replicas: 4 # kpt-set: ${replicas}
    image: nginx:1.16 # kpt-set: nginx:${tag}

is reported as

    Name: replicas, Value: 4, Type: int, Count: 1
    Name: tag, Value: 1.16, Type: str, Count: 1
",
    behaviours: &[
        Behaviour {
            tags: &["v0.1.0"],
            sdk: Sdk::Kyaml {
                results: ResultsForm::Object("list-setters"),
                errors: ErrorsPrinted::Twice,
            },
            function: &ListSetters {
                kptfiles: Kptfiles::Of2021,
                without: WithoutSetters::Fails,
            },
        },
        Behaviour {
            tags: &["v0.1.1", "unstable"],
            sdk: Sdk::Kyaml {
                results: ResultsForm::Object("list-setters"),
                errors: ErrorsPrinted::Twice,
            },
            function: &ListSetters {
                kptfiles: Kptfiles::Of2021,
                without: WithoutSetters::Warns,
            },
        },
        Behaviour {
            tags: &["latest"],
            sdk: Sdk::Kyaml {
                results: ResultsForm::List,
                errors: ErrorsPrinted::Twice,
            },
            function: &ListSetters {
                kptfiles: Kptfiles::Current,
                without: WithoutSetters::Warns,
            },
        },
    ],
};
