//! Finds the changes that a reviewer should look at: images, replicas, permissions, network, quantities, and resources that
//! come or go.

use std::collections::{BTreeMap, BTreeSet};

use kiln_yaml::Document;

use super::changed_files::FileVersion;
use super::model::ReviewNote;
use super::pairs::{Identified, VersionPairs};
use super::secrets::secret_resources;

/// Kinds whose every change is about permissions or the network.
const TOPICS_OF_KINDS: &[(&str, &str)] = &[
    ("ClusterRole", "rbac"),
    ("ClusterRoleBinding", "rbac"),
    ("Role", "rbac"),
    ("RoleBinding", "rbac"),
    ("ServiceAccount", "rbac"),
    ("Gateway", "network"),
    ("HTTPRoute", "network"),
    ("Ingress", "network"),
    ("NetworkPolicy", "network"),
    ("Service", "network"),
];

/// Fields that matter wherever they are.
const TOPICS_OF_FIELDS: &[(&str, &str)] = &[
    ("image", "image"),
    ("replicas", "replicas"),
    ("minReplicas", "replicas"),
    ("maxReplicas", "replicas"),
    ("cpu", "quantity"),
    ("memory", "quantity"),
    ("storage", "quantity"),
    ("ephemeral-storage", "quantity"),
    ("hostNetwork", "network"),
    ("hostPort", "network"),
    ("hostPID", "security"),
    ("hostIPC", "security"),
    ("allowPrivilegeEscalation", "security"),
    ("readOnlyRootFilesystem", "security"),
    ("runAsNonRoot", "security"),
    ("runAsUser", "security"),
    ("privileged", "security"),
    ("serviceAccountName", "rbac"),
];

/// The notes of one file. Secrets are left out, because notes show values.
pub(super) fn review_notes(
    path: &str,
    before: &FileVersion,
    after: &FileVersion,
) -> Vec<ReviewNote> {
    let mut of_file = Vec::new();
    let mut add = |topic: &str, resource: String, field: &str, before: &str, after: &str| {
        of_file.push(ReviewNote {
            topic: topic.to_owned(),
            resource,
            file: path.to_owned(),
            field: field.to_owned(),
            before: before.to_owned(),
            after: after.to_owned(),
        });
    };
    let mut pairs = VersionPairs::of(&before.documents, &after.documents);
    pairs.find_renamed();
    let current = pairs.current.into_iter();
    let current = current.map(|(previous, current)| (previous, Some(current)));
    let gone = pairs.gone.into_iter();
    for pair in current.chain(gone.map(|previous| (Some(previous), None))) {
        let mut versions = [pair.0, pair.1].into_iter().flatten();
        if !versions.all(is_resource) {
            continue;
        }
        match pair {
            (None, None) => {}
            (None, Some(current)) => add("added", current.title(), "", "", ""),
            (Some(previous), None) => add("deleted", previous.title(), "", "", ""),
            (Some(previous), Some(current)) => {
                let title = || current.title();
                for (topic, field, before, after) in [
                    ("renamed", "metadata.name", previous.name, current.name),
                    (
                        "namespace",
                        "metadata.namespace",
                        previous.namespace,
                        current.namespace,
                    ),
                ] {
                    if before != after {
                        add(topic, title(), field, before, after);
                    }
                }
                if previous.document.source_text() == current.document.source_text() {
                    continue;
                }
                let (previous, values) =
                    (values_of(previous.document), values_of(current.document));
                let fields: BTreeSet<&String> = previous.keys().chain(values.keys()).collect();
                for field in fields {
                    let value = |values: &BTreeMap<String, String>| {
                        values.get(field).cloned().unwrap_or_default()
                    };
                    let (before, after) = (value(&previous), value(&values));
                    let topic = topic_of(current.kind, field);
                    if let Some(topic) = topic.filter(|_| before != after) {
                        add(topic, title(), field, &before, &after);
                    }
                }
            }
        }
    }
    of_file
}

fn is_resource(of: Identified<'_>) -> bool {
    !of.kind.is_empty() && !of.name.is_empty()
}

/// The scalar values by their paths, metadata and values of Secrets excepted.
fn values_of(document: &Document) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    if !secret_resources(document).is_empty() {
        return values;
    }
    document.root().visit(|visit| {
        if visit.node.is_scalar() && !visit.path.is_empty() {
            let path = visit.display_path().to_string();
            if !path.starts_with("metadata.") && !path.starts_with("status.") {
                values.insert(path, visit.node.value().to_owned());
            }
        }
    });
    values
}

fn topic_of(kind: &str, field: &str) -> Option<&'static str> {
    let find = |table: &'static [(&str, &str)], name: &str| {
        let row = table.iter().find(|(known, _)| *known == name);
        row.map(|(_, topic)| *topic)
    };
    let last = field.rsplit('.').next().unwrap_or_default();
    let last = last.split('[').next().unwrap_or_default();
    find(TOPICS_OF_FIELDS, last).or_else(|| find(TOPICS_OF_KINDS, kind))
}
