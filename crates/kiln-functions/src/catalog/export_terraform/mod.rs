//! export-terraform: exports Config Connector resources as Terraform, in the files of a ConfigMap.
//!
//! The resources become a [`graph`], the [`files`] are written from the graph, and the output is one new resource.
//! Existing resources do not change, including the ConfigMap of an earlier run. As in the original, every error is a
//! result and does not fail the function. The layout of the files, including its oddities, is the original's, because
//! users compare it.

mod files;
mod graph;
mod hcl;
mod object;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use kiln_krm::record::to_document;
use kiln_krm::results::Severity;
use kiln_krm::{Resource, records};

use crate::function::{Context, Ending, Function, FunctionList};
use crate::registry::{FunctionInfo, FunctionVersion};
use crate::sdk::Sdk;
use graph::Graph;
use object::Object;

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "export-terraform",
    former_names: &[],
    summary: "Exports Config Connector resources as Terraform",
    doc: include_str!("doc.md"),
    versions: &[
        FunctionVersion::new(
            &["v0.1.0"],
            Sdk::Go,
            &ExportTerraform {
                release: ExportTerraformRelease::V0_1_0,
            },
        ),
        FunctionVersion::new(
            &["v0.2.0"],
            Sdk::Go,
            &ExportTerraform {
                release: ExportTerraformRelease::V0_2_0,
            },
        ),
        FunctionVersion::new(
            &["v0.3.0", "v0.3.1", "unstable", "latest"],
            Sdk::Go,
            &ExportTerraform {
                release: ExportTerraformRelease::V0_3_0,
            },
        ),
    ],
};

struct ExportTerraform {
    release: ExportTerraformRelease,
}

/// Each release exports more kinds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum ExportTerraformRelease {
    /// Folders, projects and IAM policies.
    V0_1_0,
    /// Also log sinks, audit configuration and networks.
    V0_2_0,
    /// Also routes and shared VPC host projects.
    V0_3_0,
}

const GROUP: &str = "cnrm.cloud.google.com";
const SKIPPED: &str = "cnrm.cloud.google.com/ignore-clusterless";

/// The exported kinds, with the first release that exports them.
const KINDS: [(&str, ExportTerraformRelease); 21] = [
    ("Folder", ExportTerraformRelease::V0_1_0),
    ("Organization", ExportTerraformRelease::V0_1_0),
    ("IAMPolicyMember", ExportTerraformRelease::V0_1_0),
    ("IAMPartialPolicy", ExportTerraformRelease::V0_1_0),
    ("IAMPolicy", ExportTerraformRelease::V0_1_0),
    ("Project", ExportTerraformRelease::V0_1_0),
    ("LoggingLogSink", ExportTerraformRelease::V0_2_0),
    ("BigQueryDataset", ExportTerraformRelease::V0_2_0),
    ("PubSubTopic", ExportTerraformRelease::V0_2_0),
    ("StorageBucket", ExportTerraformRelease::V0_2_0),
    ("IAMAuditConfig", ExportTerraformRelease::V0_2_0),
    ("ComputeNetwork", ExportTerraformRelease::V0_2_0),
    ("ComputeSubnetwork", ExportTerraformRelease::V0_2_0),
    ("ComputeRouter", ExportTerraformRelease::V0_2_0),
    ("ComputeRouterNAT", ExportTerraformRelease::V0_2_0),
    ("ComputeAddress", ExportTerraformRelease::V0_2_0),
    (
        "ServiceNetworkingConnection",
        ExportTerraformRelease::V0_2_0,
    ),
    ("ComputeFirewall", ExportTerraformRelease::V0_2_0),
    ("LoggingLogBucket", ExportTerraformRelease::V0_2_0),
    ("ComputeRoute", ExportTerraformRelease::V0_3_0),
    (
        "ComputeSharedVPCHostProject",
        ExportTerraformRelease::V0_3_0,
    ),
];

records! {
    struct ConfigMap = "v1.ConfigMap" {
        api_version: String = "apiVersion",
        kind: String = "kind",
        metadata: TerraformMetadata = "metadata",
        data: BTreeMap<String, String> = "data",
    }

    struct TerraformMetadata = "v1.ObjectMeta" {
        name: String = "name",
        annotations: BTreeMap<String, String> = "annotations",
    }
}

impl Function for ExportTerraform {
    fn run(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Ending {
        list.results.clear();
        let mut graph = Graph::new(self.release);
        for resource in &list.items {
            if let Err(stopped) = ctx.check() {
                return stopped.into();
            }
            let object = Object::new(resource.root());
            if self.exports(object) {
                graph.add(object);
            }
        }
        graph.finish();
        match files::write(&graph, self.release, &mut list.stderr) {
            Ok(_) if list.items.iter().any(is_export) => {}
            Ok(files) => {
                list.unsettled.push(list.items.len());
                list.items.push(config_map(files));
            }
            Err(error) => list.report(Severity::Error, error.to_string()),
        }
        Ending::Success
    }
}

impl ExportTerraform {
    fn exports(&self, object: Object<'_>) -> bool {
        let text = |path: &[&str]| object.text(path).unwrap_or_default();
        let kind = text(&["kind"]);
        let is_known = |(known, since): &(&str, ExportTerraformRelease)| {
            *known == kind && *since <= self.release
        };
        text(&["apiVersion"]).contains(GROUP)
            && text(&["metadata", "annotations", SKIPPED]) != "true"
            && KINDS.iter().any(is_known)
    }
}

/// Whether a resource is the output of an earlier run.
fn is_export(resource: &Resource) -> bool {
    let object = Object::new(resource.root());
    let text = |path: &[&str]| object.text(path).unwrap_or_default();
    text(&["apiVersion"]) == "v1"
        && text(&["kind"]) == "ConfigMap"
        && text(&["metadata", "name"]) == "terraform"
        && text(&["metadata", "namespace"]).is_empty()
}

fn config_map(files: BTreeMap<String, String>) -> Resource {
    let annotations = [
        (kiln_krm::annotations::LOCAL_CONFIG, "true"),
        ("blueprints.cloud.google.com/syntax", "hcl"),
        ("blueprints.cloud.google.com/flavor", "terraform"),
        (kiln_krm::annotations::PATH, "terraform.yaml"),
    ];
    let annotations = annotations.map(|(key, value)| (key.to_owned(), value.to_owned()));
    Resource::new(to_document(&ConfigMap {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        metadata: TerraformMetadata {
            name: "terraform".to_owned(),
            annotations: annotations.into(),
        },
        data: files,
    }))
}
