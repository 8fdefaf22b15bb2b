//! The registry entry of generate-folders: documentation and versions.
//!
//! A port to Go was written but never released: `latest` is still the original.

use super::{GenerateFolders, Order};
use crate::registry::{FunctionInfo, FunctionVersion};
use crate::sdk::Sdk;

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "generate-folders",
    former_names: &[],
    summary: "Generates the folders of a Google Cloud organization from a hierarchy",
    doc: "\
Generates a Folder of Config Connector for every folder of a ResourceHierarchy. Names are those of the folder and its
ancestors, joined by dots, in lower case and without invalid characters. Annotations of the hierarchy are copied to its
folders.

It takes no configuration but the hierarchies themselves. Like all functions written in TypeScript it drops comments and
quotes of all resources; kpt restores the comments.

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
are supported with a warning.
",
    versions: &[
        FunctionVersion {
            tags: &["v0.1.1"],
            sdk: Sdk::Plain,
            function: &GenerateFolders(Order::Unspecified),
        },
        FunctionVersion {
            tags: &["unstable", "latest"],
            sdk: Sdk::Plain,
            function: &GenerateFolders(Order::DependsOn),
        },
    ],
};
