//! Finds the changes that a reviewer should look at: images, replicas, permissions, network, quantities, and resources that
//! come or go.

use std::collections::{BTreeMap, BTreeSet};

use kiln_krm::secrets::is_secret;
use kiln_yaml::{Document, NodeRef};

use super::changed_files::FileVersion;
use super::model::{ReviewNote, resource_title};

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
    ("privileged", "rbac"),
    ("serviceAccountName", "rbac"),
];

/// The notes of one file. Secrets are left out, because notes show values.
pub(super) fn review_notes(
    path: &str,
    before: &FileVersion,
    after: &FileVersion,
) -> Vec<ReviewNote> {
    let (old, new) = (identified(&before.documents), identified(&after.documents));
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
    let pairs = pair(&old, &new);
    for pair in &pairs {
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

/// A resource and what identifies it.
#[derive(Clone, Copy)]
struct Identified<'a> {
    kind: &'a str,
    namespace: &'a str,
    name: &'a str,
    document: &'a Document,
}

impl Identified<'_> {
    fn title(&self) -> String {
        resource_title(self.kind, self.namespace, self.name)
    }
}

fn identified(documents: &[Document]) -> Vec<Identified<'_>> {
    let named = documents.iter().filter_map(|document| {
        let text = |path: &[&str]| document.root().get_path(path).map(NodeRef::value);
        Some(Identified {
            kind: text(&["kind"])?,
            namespace: text(&["metadata", "namespace"]).unwrap_or_default(),
            name: text(&["metadata", "name"])?,
            document,
        })
    });
    named.collect()
}

type Pair<'a> = (Option<Identified<'a>>, Option<Identified<'a>>);

/// The versions of each resource: the same name, the same name in another namespace, or the only one of its kind that is left
/// in both versions of the file, which was renamed.
fn pair<'a>(old: &[Identified<'a>], new: &[Identified<'a>]) -> Vec<Pair<'a>> {
    let mut found: Vec<Option<Identified<'a>>> = vec![None; new.len()];
    let mut left: Vec<Option<Identified<'a>>> = old.iter().copied().map(Some).collect();
    type Fits = fn(&Identified<'_>, &Identified<'_>) -> bool;
    let rules: [Fits; 2] = [
        |a, b| a.kind == b.kind && a.name == b.name && a.namespace == b.namespace,
        |a, b| a.kind == b.kind && a.name == b.name,
    ];
    for fits in rules {
        for (index, current) in new.iter().enumerate() {
            let Some(slot @ None) = found.get_mut(index) else {
                continue;
            };
            let is_same = |one: &&mut Option<Identified<'a>>| {
                one.as_ref().is_some_and(|one| fits(one, current))
            };
            if let Some(previous) = left.iter_mut().find(is_same) {
                *slot = previous.take();
            }
        }
    }
    let is_alone = |kind: &str, found: &[Option<Identified<'a>>]| {
        let added = new.iter().zip(found);
        let added = added.filter(|(one, previous)| one.kind == kind && previous.is_none());
        added.count() == 1
    };
    for index in 0..new.len() {
        let (Some(current), Some(None)) = (new.get(index), found.get(index)) else {
            continue;
        };
        let mut of_kind = left
            .iter_mut()
            .filter(|one| one.as_ref().is_some_and(|one| one.kind == current.kind));
        if let (Some(previous), None) = (of_kind.next(), of_kind.next())
            && is_alone(current.kind, &found)
        {
            let renamed = previous.take();
            if let Some(slot) = found.get_mut(index) {
                *slot = renamed;
            }
        }
    }
    let kept = found.into_iter().zip(new.iter().copied().map(Some));
    let gone = left.into_iter().filter(Option::is_some);
    kept.chain(gone.map(|one| (one, None))).collect()
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
