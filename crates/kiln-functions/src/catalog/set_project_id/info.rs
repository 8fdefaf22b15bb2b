//! The registry entry of set-project-id: documentation and versions.
//!
//! v0.2.1 is left out: the image that it adds to a Kptfile is not known.

use super::SetProjectId;
use crate::port::kyaml::KyamlRelease;
use crate::registry::{FunctionInfo, FunctionVersion};
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};

const SDK: Sdk = Sdk::Kyaml {
    results: ResultsForm::List,
    errors: ErrorsPrinted::Twice,
};

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "set-project-id",
    former_names: &[],
    summary: "Sets a Google Cloud project where it is missing",
    doc: "\
Sets the setter `project-id` of every Kptfile and the annotation `cnrm.cloud.google.com/project-id` of every resource of
Config Connector, where they are missing. A Kptfile that does not call apply-setters gets such a call; if its setters are in
a file, that file is changed. The input must contain a Kptfile: run the function with `--include-meta-resources`.

Configuration: a ConfigMap with the project.

    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: project
    data:
      project-id: my-project
",
    versions: &[
        FunctionVersion {
            tags: &["v0.1.0"],
            sdk: SDK,
            function: &SetProjectId {
                apply_setters: "gcr.io/kpt-fn/apply-setters:v0.1",
                kyaml: KyamlRelease::V0_10,
            },
        },
        FunctionVersion {
            tags: &["v0.2.0"],
            sdk: SDK,
            function: &SetProjectId {
                apply_setters: "gcr.io/kpt-fn/apply-setters:v0.2",
                kyaml: KyamlRelease::V0_10,
            },
        },
        FunctionVersion {
            tags: &["unstable"],
            sdk: SDK,
            function: &SetProjectId {
                apply_setters: "gcr.io/kpt-fn/apply-setters:v0.2",
                kyaml: KyamlRelease::V0_13,
            },
        },
        FunctionVersion {
            tags: &["latest"],
            sdk: SDK,
            function: &SetProjectId {
                apply_setters: "ghcr.io/kptdev/krm-functions-catalog/apply-setters:v0.2",
                kyaml: KyamlRelease::V0_13,
            },
        },
    ],
};
