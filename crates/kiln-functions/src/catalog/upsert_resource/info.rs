//! What people are told about upsert-resource, and its versions.

use super::{Inserts, UpsertResource};
use crate::port::kyaml::Generation;
use crate::registry::{Behaviour, FunctionInfo};
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};

const SDK: Sdk = Sdk::Kyaml {
    results: ResultsForm::List,
    errors: ErrorsPrinted::Twice,
};

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "upsert-resource",
    former_names: &[],
    summary: "Puts a resource in the place of the one with the same identity, or adds it",
    doc: "\
Replaces every resource that has the same group, kind, name and namespace as the given one. If there is none, the given
one is added.

Configuration: the resource itself, or a `List` of resources. The annotation `config.kubernetes.io/target-path` of such
a resource says in which file it is looked for, and to which file it is added.

    apiVersion: v1
    kind: List
    items:
    - apiVersion: v1
      kind: Service
      metadata:
        name: front
        annotations:
          config.kubernetes.io/target-path: services/front.yaml
      spec:
        selector:
          app: front
",
    behaviours: &[
        Behaviour {
            tags: &["v0.1.0"],
            sdk: SDK,
            function: &UpsertResource {
                inserts: Inserts::One,
                generation: Generation::First,
            },
        },
        Behaviour {
            tags: &["v0.2.0"],
            sdk: SDK,
            function: &UpsertResource {
                inserts: Inserts::Several,
                generation: Generation::First,
            },
        },
        Behaviour {
            tags: &["v0.2.1", "unstable", "latest"],
            sdk: SDK,
            function: &UpsertResource {
                inserts: Inserts::Several,
                generation: Generation::Third,
            },
        },
    ],
};
