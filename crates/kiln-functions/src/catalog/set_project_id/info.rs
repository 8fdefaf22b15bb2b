//! What people are told about set-project-id, and its versions.
//!
//! v0.2.1 is left out: which image it adds to a Kptfile is not known.

use super::SetProjectId;
use crate::port::kyaml::Generation;
use crate::registry::{Behaviour, FunctionInfo};
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};

const SDK: Sdk = Sdk::Kyaml {
    results: ResultsForm::List,
    errors: ErrorsPrinted::Twice,
};

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "set-project-id",
    former_names: &[],
    summary: "Sets a Google Cloud project where none is set yet",
    doc: "\
Sets the setter `project-id` of every Kptfile and the annotation `cnrm.cloud.google.com/project-id` of every resource of
Config Connector, where they are not set yet. A Kptfile that does not call apply-setters gets such a call; one that
keeps its setters in a file has them set there. There must be a Kptfile: run the function with
`--include-meta-resources`.

Configuration: a ConfigMap with the project.

    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: project
    data:
      project-id: my-project
",
    behaviours: &[
        Behaviour {
            tags: &["v0.1.0"],
            sdk: SDK,
            function: &SetProjectId {
                apply_setters: "gcr.io/kpt-fn/apply-setters:v0.1",
                generation: Generation::First,
            },
        },
        Behaviour {
            tags: &["v0.2.0"],
            sdk: SDK,
            function: &SetProjectId {
                apply_setters: "gcr.io/kpt-fn/apply-setters:v0.2",
                generation: Generation::First,
            },
        },
        Behaviour {
            tags: &["unstable"],
            sdk: SDK,
            function: &SetProjectId {
                apply_setters: "gcr.io/kpt-fn/apply-setters:v0.2",
                generation: Generation::Third,
            },
        },
        Behaviour {
            tags: &["latest"],
            sdk: SDK,
            function: &SetProjectId {
                apply_setters: "ghcr.io/kptdev/krm-functions-catalog/apply-setters:v0.2",
                generation: Generation::Third,
            },
        },
    ],
};
