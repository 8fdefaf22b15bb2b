//! What people are told about export-terraform, and its versions.

use super::{ExportTerraform, Version};
use crate::registry::{Behaviour, FunctionInfo};
use crate::sdk::Sdk;

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "export-terraform",
    former_names: &[],
    summary: "Exports resources of Config Connector as Terraform",
    doc: "\
Writes the resources of Config Connector among the input as Terraform into the ConfigMap `terraform`, in the file
`terraform.yaml`: one entry for each file of a Terraform configuration. Folders, projects, IAM policies and audits, sinks of
logs and networks are exported; other kinds are passed over, and so are resources with the annotation
`cnrm.cloud.google.com/ignore-clusterless: \"true\"`. A ConfigMap `terraform` that is there already is left as it is: remove
it to export again. What cannot be exported is a result and does not make the function fail.

Configuration: none.

    kiln fn eval --image export-terraform
",
    behaviours: &[
        Behaviour {
            tags: &["v0.1.0"],
            sdk: Sdk::Go,
            function: &ExportTerraform {
                version: Version::First,
            },
        },
        Behaviour {
            tags: &["v0.2.0"],
            sdk: Sdk::Go,
            function: &ExportTerraform {
                version: Version::Second,
            },
        },
        Behaviour {
            tags: &["v0.3.0", "v0.3.1", "unstable", "latest"],
            sdk: Sdk::Go,
            function: &ExportTerraform {
                version: Version::Third,
            },
        },
    ],
};
