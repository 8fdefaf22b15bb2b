//! Finds the changes that a reviewer should look at: images, replicas, permissions, network, quantities, and resources that
//! come or go.

use std::collections::BTreeMap;

use kiln_krm::secrets::is_secret;
use kiln_yaml::{Document, NodeRef, parse_until_error};

use super::model::{ReviewNote, resource_title};

/// More notes than anybody reads; the diff has the rest.
const MOST_NOTES: usize = 200;

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
    ("privileged", "rbac"),
    ("serviceAccountName", "rbac"),
];

/// Adds the notes of one file. Secrets are left out, because notes show values.
pub(super) fn add_notes(path: &str, before: &str, after: &str, notes: &mut Vec<ReviewNote>) {
    let (old, new) = (parse(before), parse(after));
    let (old, new) = (by_title(&old), by_title(&new));
    let note = |topic: &str, resource: &str, field: &str, before: &str, after: &str| ReviewNote {
        topic: topic.to_owned(),
        resource: resource.to_owned(),
        file: path.to_owned(),
        field: field.to_owned(),
        before: before.to_owned(),
        after: after.to_owned(),
    };
    for (title, document) in &new {
        match old.get(title) {
            None => notes.push(note("added", title, "", "", "")),
            Some(previous) => {
                let (previous, current) = (values_of(previous), values_of(document));
                let kind = document.root().get("kind").map_or("", NodeRef::value);
                let fields = previous.keys().chain(current.keys());
                let mut fields: Vec<&String> = fields.collect();
                fields.sort();
                fields.dedup();
                for field in fields {
                    let value = |values: &BTreeMap<String, String>| {
                        values.get(field).cloned().unwrap_or_default()
                    };
                    let (before, after) = (value(&previous), value(&current));
                    let topic = topic_of(kind, field);
                    if let Some(topic) = topic.filter(|_| before != after) {
                        notes.push(note(topic, title, field, &before, &after));
                    }
                }
            }
        }
    }
    for title in old.keys().filter(|title| !new.contains_key(*title)) {
        notes.push(note("deleted", title, "", "", ""));
    }
    notes.truncate(MOST_NOTES);
}

fn parse(text: &str) -> Vec<Document> {
    parse_until_error(text.as_bytes()).0
}

fn by_title(documents: &[Document]) -> BTreeMap<String, &Document> {
    let titled = documents.iter().filter_map(|document| {
        let text = |path: &[&str]| document.root().get_path(path).map(NodeRef::value);
        let kind = text(&["kind"])?;
        let name = text(&["metadata", "name"])?;
        let namespace = text(&["metadata", "namespace"]).unwrap_or_default();
        Some((resource_title(kind, namespace, name), document))
    });
    titled.collect()
}

/// The scalar values by their paths, metadata and values of Secrets excepted.
fn values_of(document: &Document) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    if is_secret(document.root()) {
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
