//! The registry entry of upsert-resource: documentation and versions.

use super::{Inserts, UpsertResource};
use crate::port::kyaml::KyamlRelease;
use crate::registry::{FunctionInfo, FunctionVersion};
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};

const SDK: Sdk = Sdk::Kyaml {
    results: ResultsForm::List,
    errors: ErrorsPrinted::Twice,
};

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "upsert-resource",
    former_names: &[],
    summary: "Replaces the resource with the same identity, or adds a new one",
    doc: "\
Replaces every resource with the same group, kind, name and namespace as the given one. If there is no such resource, the
given one is added.

Configuration: the resource itself, or a `List` of resources. The annotation `config.kubernetes.io/target-path` of such
a resource limits the search to this file, and adds the resource to it.

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
    versions: &[
        FunctionVersion {
            tags: &["v0.1.0"],
            sdk: SDK,
            function: &UpsertResource {
                inserts: Inserts::One,
                kyaml: KyamlRelease::V0_10,
            },
        },
        FunctionVersion {
            tags: &["v0.2.0"],
            sdk: SDK,
            function: &UpsertResource {
                inserts: Inserts::Several,
                kyaml: KyamlRelease::V0_10,
            },
        },
        FunctionVersion {
            tags: &["v0.2.1", "unstable", "latest"],
            sdk: SDK,
            function: &UpsertResource {
                inserts: Inserts::Several,
                kyaml: KyamlRelease::V0_13,
            },
        },
    ],
};
