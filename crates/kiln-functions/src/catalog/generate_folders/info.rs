//! What people are told about generate-folders, and its versions.
//!
//! A port to Go was written but never released: `latest` is the original still.

use super::{GenerateFolders, Order};
use crate::registry::{Behaviour, FunctionInfo};
use crate::sdk::Sdk;

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "generate-folders",
    former_names: &[],
    summary: "Generates the folders of a Google Cloud organization from a hierarchy",
    doc: "\
Generates a Folder of Config Connector for every folder of a ResourceHierarchy. Names are those of the folders on the
way, joined by dots, in lower case and without the characters that names cannot have. Annotations of the hierarchy are
those of its folders as well.

It takes no configuration but the hierarchies themselves. As all functions that were written in TypeScript it loses
comments and quotes of all resources; kpt puts the comments back.

    apiVersion: blueprints.cloud.google.com/v1alpha3
    kind: ResourceHierarchy
    metadata:
      name: root-hierarchy
      annotations:
        config.kubernetes.io/local-config: \"true\"
    spec:
      parentRef:
        kind: Organization
        external: \"123456789012\"
      config:
      - dev:
          $subtree: teams
      - prod:
        - retail
      subtrees:
        teams:
        - retail
        - finance

Here `dev` has the folders of the subtree `teams`. Older hierarchies, of `cft.dev/v1alpha1` and `cft.dev/v1alpha2`,
are understood with a warning.
",
    behaviours: &[
        Behaviour {
            tags: &["v0.1.1"],
            sdk: Sdk::Plain,
            function: &GenerateFolders(Order::Unsaid),
        },
        Behaviour {
            tags: &["unstable", "latest"],
            sdk: Sdk::Plain,
            function: &GenerateFolders(Order::DependsOn),
        },
    ],
};
