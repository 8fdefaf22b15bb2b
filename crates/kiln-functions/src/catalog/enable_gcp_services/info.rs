//! What people are told about enable-gcp-services, and its versions.

use super::{EnableGcpServices, Words};
use crate::registry::{Behaviour, FunctionInfo};
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
Looks for resources of the kind ProjectServiceSet and generates a Service of Config Connector for each service they
list, into files beside them. What it has generated before is annotated with its owner and is replaced, or removed if it is not
listed any more. The annotations of a set are given to its services, and the set itself is marked as local
configuration.

Configuration: none. What is to be enabled is among the resources:

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
    behaviours: &[
        Behaviour {
            tags: &["v0.1.0"],
            sdk: SDK,
            function: &EnableGcpServices {
                words: Words::AsTheyAre,
            },
        },
        Behaviour {
            tags: &["v0.1.1", "unstable", "latest"],
            sdk: SDK,
            function: &EnableGcpServices {
                words: Words::Quoted,
            },
        },
    ],
};
