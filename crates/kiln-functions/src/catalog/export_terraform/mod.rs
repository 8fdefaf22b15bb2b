//! export-terraform: resources of Config Connector as Terraform, in the files of a ConfigMap.
//!
//! The resources become a [`graph`], each of the [`files`] is written from it, and what comes out goes into one new resource;
//! nothing that is there is touched, a ConfigMap of an earlier run included. Whatever goes wrong is a result and no failure, as in
//! the original. The layout of the files, its oddities included, is what people compare with, and is kept.

mod files;
mod graph;
mod hcl;
mod info;
mod object;
#[cfg(test)]
mod tests;

pub(crate) use info::INFO;

use std::collections::BTreeMap;

use kiln_krm::record::to_document;
use kiln_krm::results::Severity;
use kiln_krm::{Resource, records};

use crate::function::{Context, Ending, Function, FunctionList};
use graph::Graph;
use object::Object;

/// The function, in all its versions.
struct ExportTerraform {
    version: Version,
}

/// What is exported grew.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Version {
    /// Folders, projects and who may do what with them.
    First,
    /// Also sinks of logs, audits and networks.
    Second,
    /// Also routes, and projects that host networks for others.
    Third,
}

const GROUP: &str = "cnrm.cloud.google.com";
const SKIPPED: &str = "cnrm.cloud.google.com/ignore-clusterless";

/// The kinds that are exported, with the version that began to.
const KINDS: [(&str, Version); 21] = [
    ("Folder", Version::First),
    ("Organization", Version::First),
    ("IAMPolicyMember", Version::First),
    ("IAMPartialPolicy", Version::First),
    ("IAMPolicy", Version::First),
    ("Project", Version::First),
    ("LoggingLogSink", Version::Second),
    ("BigQueryDataset", Version::Second),
    ("PubSubTopic", Version::Second),
    ("StorageBucket", Version::Second),
    ("IAMAuditConfig", Version::Second),
    ("ComputeNetwork", Version::Second),
    ("ComputeSubnetwork", Version::Second),
    ("ComputeRouter", Version::Second),
    ("ComputeRouterNAT", Version::Second),
    ("ComputeAddress", Version::Second),
    ("ServiceNetworkingConnection", Version::Second),
    ("ComputeFirewall", Version::Second),
    ("LoggingLogBucket", Version::Second),
    ("ComputeRoute", Version::Third),
    ("ComputeSharedVPCHostProject", Version::Third),
];

records! {
    struct ConfigMap = "v1.ConfigMap" {
        api_version: String = "apiVersion",
        kind: String = "kind",
        metadata: Metadata = "metadata",
        data: BTreeMap<String, String> = "data",
    }

    struct Metadata = "v1.ObjectMeta" {
        name: String = "name",
        annotations: BTreeMap<String, String> = "annotations",
    }
}

impl Function for ExportTerraform {
    fn run(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Ending {
        // Earlier results are not kept.
        list.results.clear();
        let mut graph = Graph::new(self.version);
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
        match files::write(&graph, self.version, &mut list.stderr) {
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
        let is_known = |(known, since): &(&str, Version)| *known == kind && *since <= self.version;
        text(&["apiVersion"]).contains(GROUP)
            && text(&["metadata", "annotations", SKIPPED]) != "true"
            && KINDS.iter().any(is_known)
    }
}

/// Whether a resource is what a run has left.
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
        metadata: Metadata {
            name: "terraform".to_owned(),
            annotations: annotations.into(),
        },
        data: files,
    }))
}
