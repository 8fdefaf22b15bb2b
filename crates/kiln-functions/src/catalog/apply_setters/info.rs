//! What people are told about apply-setters, and its versions.

use super::{ApplySetters, NothingToDo};
use crate::registry::{Behaviour, FunctionInfo};
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

The comment is a pattern: text with one or more names in it. Names for which no value is given keep what they stand for
now, as far as that can be told from the field's value. A list is set as a whole; its comment is a single name, and its
value is given as a YAML list. An empty value makes an empty list.

Configuration: a ConfigMap whose data gives values for names.

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
    behaviours: &[
        Behaviour {
            tags: &["v0.1.1"],
            sdk: SDK,
            function: &ApplySetters {
                nothing_to_do: NothingToDo::Fails,
            },
        },
        Behaviour {
            tags: &["v0.2.0", "v0.2.1", "v0.2.2", "unstable", "latest"],
            sdk: SDK,
            function: &ApplySetters {
                nothing_to_do: NothingToDo::IsFine,
            },
        },
    ],
};
