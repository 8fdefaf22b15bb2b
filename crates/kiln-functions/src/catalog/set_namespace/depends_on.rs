//! `depends-on` references to namespaced resources, and their update when the namespace changes.

use std::collections::HashSet;

use kiln_krm::Resource;

use super::visit::NamespaceFields;
use crate::budget::is_stopped;
use crate::catalog::depends_on::{DEPENDS_ON, parts};
use crate::port::go_sdk::{Formatting, is_local_config, set_text, text};

/// A reference to one resource in a namespace: `group/namespaces/namespace/kind/name`.
pub(super) struct DependsOnReference<'a> {
    pub(super) group: &'a str,
    pub(super) namespace: &'a str,
    pub(super) kind: &'a str,
    pub(super) name: &'a str,
}

impl<'a> DependsOnReference<'a> {
    /// Parses a reference; `None` for several references or a cluster-scoped resource.
    pub(super) fn parse(text: &'a str) -> Option<DependsOnReference<'a>> {
        let &[group, "namespaces", namespace, kind, name] = parts(text)?.as_slice() else {
            return None;
        };
        Some(DependsOnReference {
            group,
            namespace,
            kind,
            name,
        })
    }

    /// The same resource in another namespace.
    pub(super) fn moved_to(&self, namespace: &str) -> String {
        let DependsOnReference {
            group, kind, name, ..
        } = self;
        format!("{group}/namespaces/{namespace}/{kind}/{name}")
    }
}

/// Updates references to resources of the package whose namespace was replaced, as before v0.4.2. The core group is
/// `v1` there, so that references to its resources are never found.
pub(super) fn follow(
    items: &mut [Resource],
    places: &NamespaceFields,
    namespace: &str,
    was_replaced: impl Fn(&str) -> bool,
) {
    let known_as = |resource: &Resource| {
        let root = resource.root();
        let api_version = text(root, &["apiVersion"]);
        let group = api_version.split('/').next().unwrap_or_default();
        [
            group,
            text(root, &["kind"]),
            text(root, &["metadata", "name"]),
        ]
        .join("/")
    };
    let is_ours = |resource: &&Resource| {
        let root = resource.root();
        !is_local_config(root) && places.has_any(root)
    };
    let known: HashSet<String> = items.iter().filter(is_ours).map(known_as).collect();
    for resource in items {
        if is_stopped() {
            break;
        }
        if !is_ours(&&*resource) {
            continue;
        }
        let value = resource.annotation(DEPENDS_ON).unwrap_or_default();
        let Some(reference) = DependsOnReference::parse(value) else {
            continue;
        };
        let key = [reference.group, reference.kind, reference.name].join("/");
        if known.contains(&key) && was_replaced(reference.namespace) {
            let moved = reference.moved_to(namespace);
            let top = resource.root().id();
            let path = ["metadata", "annotations", DEPENDS_ON];
            // Cannot fail: the annotation is there.
            let _ = set_text(
                resource.document_mut(),
                top,
                &path,
                &moved,
                Formatting::Comments,
            );
        }
    }
}
