//! The registry entry of create-setters: documentation and versions.

use super::CreateSetters;
use crate::function::ListHeads;
use crate::registry::{FunctionInfo, FunctionVersion};
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};

const SDK: Sdk = Sdk::Kyaml {
    results: ResultsForm::Object("create-setters"),
    errors: ErrorsPrinted::Twice,
};

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "create-setters",
    former_names: &[],
    summary: "Adds `# kpt-set:` comments to fields that have certain values",
    doc: "\
Adds a comment such as `# kpt-set: ${name}` after every field whose value is, or contains, the value of a setter, so that
apply-setters can set it. Longer values take precedence. A list gets a comment if it has exactly the values of a list
setter, in any order. Values of several lines get no comment.

Configuration: a ConfigMap whose data maps setters to values.

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
    versions: &[
        FunctionVersion {
            tags: &["v0.1.0"],
            sdk: SDK,
            function: &CreateSetters(ListHeads::FirstField),
        },
        FunctionVersion {
            tags: &["v0.1.1", "unstable", "latest"],
            sdk: SDK,
            function: &CreateSetters(ListHeads::ItemOrFirstField),
        },
    ],
};
