//! The registry entry of apply-setters: documentation and versions.

use super::{ApplySetters, NothingToDo};
use crate::registry::{FunctionInfo, FunctionVersion};
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};

const SDK: Sdk = Sdk::Kyaml {
    results: ResultsForm::Object("apply-setters"),
    errors: ErrorsPrinted::Twice,
};

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "apply-setters",
    former_names: &[],
    summary: "Sets fields that are marked with `# kpt-set:` comments",
    doc: "\
Sets the values of fields whose line has a comment such as `# kpt-set: ${name}`.

The comment is a pattern: text with one or more names in it. Names without a new value keep their
current one, if it can be derived from the value of the field. A list is set as a whole; its comment is a single name, and
its value is a YAML list. An empty value gives an empty list.

Configuration: a ConfigMap whose data maps names to values.

    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: setters
    data:
      tag: 1.16.2
      environments: |
        - dev
        - prod

With it

    image: nginx:1.16.1 # kpt-set: nginx:${tag}
    environments: # kpt-set: ${environments}
    - stage

becomes

    image: nginx:1.16.2 # kpt-set: nginx:${tag}
    environments: # kpt-set: ${environments}
    - dev
    - prod
",
    versions: &[
        FunctionVersion {
            tags: &["v0.1.1"],
            sdk: SDK,
            function: &ApplySetters {
                nothing_to_do: NothingToDo::Fails,
            },
        },
        FunctionVersion {
            tags: &["v0.2.0", "v0.2.1", "v0.2.2", "unstable", "latest"],
            sdk: SDK,
            function: &ApplySetters {
                nothing_to_do: NothingToDo::IsFine,
            },
        },
    ],
};
