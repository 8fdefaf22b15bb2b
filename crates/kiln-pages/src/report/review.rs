//! Finds the changes that a reviewer should look at: images, replicas, permissions, network, quantities, and resources that
//! come or go.

use std::collections::BTreeMap;

use kiln_yaml::{Document, PathStep};

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
    ("automountServiceAccountToken", "rbac"),
];

/// Fields that matter with everything in them.
const TOPICS_OF_PARENTS: &[(&str, &str)] =
    &[("capabilities", "security"), ("hostPath", "security")];

/// The notes of one file. Secrets are left out, because notes show values.
pub(super) fn review_notes(path: &str, mut pairs: VersionPairs<'_>) -> Vec<ReviewNote> {
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
                let of_kind = topic_of_kind(current.kind);
                let mut fields: BTreeMap<String, ChangedField<'_>> = BTreeMap::new();
                visit_topics(previous.document, of_kind, |path, topic, value| {
                    let field = ChangedField {
                        topic,
                        before: value,
                        after: "",
                    };
                    fields.insert(path, field);
                });
                visit_topics(current.document, of_kind, |path, topic, value| {
                    let field = fields.entry(path).or_insert(ChangedField {
                        topic,
                        before: "",
                        after: "",
                    });
                    field.after = value;
                });
                for (path, field) in fields {
                    if field.before != field.after {
                        add(field.topic, title(), &path, field.before, field.after);
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

/// A field with a topic in both versions of a resource; a value is empty where the field is missing.
struct ChangedField<'a> {
    topic: &'static str,
    before: &'a str,
    after: &'a str,
}

/// Visits the scalars with a topic: path, topic and value. Metadata and Secrets are left out. Most scalars have none, and their
/// paths are not made.
fn visit_topics<'a>(
    document: &'a Document,
    of_kind: Option<&'static str>,
    mut found: impl FnMut(String, &'static str, &'a str),
) {
    if !secret_resources(document).is_empty() {
        return;
    }
    document.root().visit(|visit| {
        if !visit.node.is_scalar() || visit.path.is_empty() || is_metadata(visit.path) {
            return;
        }
        if let Some(topic) = topic_of_field(visit.path).or(of_kind) {
            let path = visit.display_path().to_string();
            found(path, topic, visit.node.value());
        }
    });
}

/// Whether a path leads into the metadata or the status.
fn is_metadata(path: &[PathStep<'_>]) -> bool {
    match path {
        [PathStep::Key(key), _, ..] => ["metadata", "status"].contains(&key.value()),
        _ => false,
    }
}

fn topic_of_field(path: &[PathStep<'_>]) -> Option<&'static str> {
    let mut keys = path.iter().rev().filter_map(|step| match step {
        PathStep::Key(key) => Some(key.value()),
        PathStep::Index(_) => None,
    });
    let field = keys.next()?;
    find_topic(TOPICS_OF_FIELDS, field).or_else(|| {
        let mut parents = [field].into_iter().chain(keys);
        parents.find_map(|parent| find_topic(TOPICS_OF_PARENTS, parent))
    })
}

fn topic_of_kind(kind: &str) -> Option<&'static str> {
    find_topic(TOPICS_OF_KINDS, kind)
}

fn find_topic(table: &'static [(&str, &str)], name: &str) -> Option<&'static str> {
    let row = table.iter().find(|(known, _)| *known == name);
    row.map(|(_, topic)| *topic)
}
