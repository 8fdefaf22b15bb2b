//! The registry entry of export-terraform: documentation and versions.

use super::{ExportTerraform, ExportTerraformRelease};
use crate::registry::{FunctionInfo, FunctionVersion};
use crate::sdk::Sdk;

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "export-terraform",
    former_names: &[],
    summary: "Exports Config Connector resources as Terraform",
    doc: "\
Writes the Config Connector resources of the input as Terraform to the ConfigMap `terraform`, in the file `terraform.yaml`:
one entry for each file of a Terraform configuration. Folders, projects, IAM policies and audit configuration, log sinks
and networks are exported; other kinds are ignored, and so are resources with the annotation
`cnrm.cloud.google.com/ignore-clusterless: \"true\"`. An existing ConfigMap `terraform` is not changed: remove it to export
again. An error is a result and does not make the function fail.

Configuration: none.

    kiln fn eval --image export-terraform
",
    versions: &[
        FunctionVersion {
            tags: &["v0.1.0"],
            sdk: Sdk::Go,
            function: &ExportTerraform {
                release: ExportTerraformRelease::V0_1_0,
            },
        },
        FunctionVersion {
            tags: &["v0.2.0"],
            sdk: Sdk::Go,
            function: &ExportTerraform {
                release: ExportTerraformRelease::V0_2_0,
            },
        },
        FunctionVersion {
            tags: &["v0.3.0", "v0.3.1", "unstable", "latest"],
            sdk: Sdk::Go,
            function: &ExportTerraform {
                release: ExportTerraformRelease::V0_3_0,
            },
        },
    ],
};
