//! What people are told about create-setters, and its versions.

use super::CreateSetters;
use crate::registry::{Behaviour, FunctionInfo};
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};

const SDK: Sdk = Sdk::Kyaml {
    results: ResultsForm::Object("create-setters"),
    errors: ErrorsPrinted::Twice,
};

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "create-setters",
    former_names: &[],
    summary: "Marks fields that have certain values with `# kpt-set:` comments",
    doc: "\
Puts a comment such as `# kpt-set: ${name}` behind every field that has the value of a setter, or has it as a part of its
value, so that apply-setters can set it. Longer values take precedence. A list gets its comment if it has exactly the
values of a setter that is a list, in any order. Values of several lines get none.

Configuration: a ConfigMap whose data gives the values of setters.

    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: setters
    data:
      image: nginx
      tag: 1.16.2
      environments: '[dev, prod]'

With it

    image: nginx:1.16.2
    environments:
    - prod
    - dev

becomes

    image: nginx:1.16.2 # kpt-set: ${image}:${tag}
    environments: # kpt-set: ${environments}
    - prod
    - dev
",
    behaviours: &[Behaviour {
        tags: &["v0.1.0", "v0.1.1", "unstable", "latest"],
        sdk: SDK,
        function: &CreateSetters,
    }],
};
