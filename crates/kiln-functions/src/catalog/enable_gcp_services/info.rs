//! The registry entry of enable-gcp-services: documentation and versions.

use super::{EnableGcpServices, Words};
use crate::registry::{FunctionInfo, FunctionVersion};
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};

const SDK: Sdk = Sdk::Kyaml {
    results: ResultsForm::List,
    errors: ErrorsPrinted::Twice,
};

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "enable-gcp-services",
    former_names: &[],
    summary: "Generates a Service of Config Connector for each service of a ProjectServiceSet",
    doc: "\
Finds resources of kind ProjectServiceSet and generates a Service of Config Connector for each service that they list, in
files next to them. Services of earlier runs are annotated with their owner and are replaced, or removed if they are no
longer listed. The annotations of a set are copied to its services, and the set itself is marked as local configuration.

Configuration: none. The sets are part of the package:

    apiVersion: blueprints.cloud.google.com/v1alpha1
    kind: ProjectServiceSet
    metadata:
      name: my-services
    spec:
      services:
      - compute.googleapis.com
      - redis.googleapis.com
      projectID: my-project

A service has a name of at least three parts. Without `projectID` the services belong to the project of their namespace.
",
    versions: &[
        FunctionVersion {
            tags: &["v0.1.0"],
            sdk: SDK,
            function: &EnableGcpServices {
                words: Words::AsTheyAre,
            },
        },
        FunctionVersion {
            tags: &["v0.1.1", "unstable", "latest"],
            sdk: SDK,
            function: &EnableGcpServices {
                words: Words::Quoted,
            },
        },
    ],
};
