//! The registry entry of list-setters: documentation and versions.

use super::kptfile::Kptfiles;
use super::{ListSetters, WithoutSetters};
use crate::registry::{FunctionInfo, FunctionVersion};
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "list-setters",
    former_names: &[],
    summary: "Reports the setters of a package",
    doc: "\
Reports each setter in a `# kpt-set:` comment, with its value, the type of the value and the number of fields that use it.
Setters that the pipeline of the root package declares are reported even if they are unused; for that the input must
contain the Kptfile. No resource changes. It takes no configuration.

    replicas: 4 # kpt-set: ${replicas}
    image: nginx:1.16 # kpt-set: nginx:${tag}

is reported as

    Name: replicas, Value: 4, Type: int, Count: 1
    Name: tag, Value: 1.16, Type: str, Count: 1
",
    versions: &[
        FunctionVersion {
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
        FunctionVersion {
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
        FunctionVersion {
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
