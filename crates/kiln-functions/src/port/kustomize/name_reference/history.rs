//! The annotations that kustomize sets on resources while it works: previous names, prefixes, suffixes and referrers.
//! They are removed at the end.
//!
//! Setting one annotation rewrites all of them: they are written sorted, without comments, at the end of the
//! metadata.

use std::collections::BTreeMap;

use kiln_krm::Resource;
use kiln_krm::meta::{INDEX, LEGACY_INDEX, LEGACY_PATH, PATH};
use kiln_yaml::Document;

use super::super::KustomizeRelease;
use super::super::resource_id::{PreviousIdsError, ResourceId};
use super::super::resource_map::effective_namespace;

/// The annotations of one resource.
pub(crate) struct History<'r> {
    resource: &'r mut Resource,
    release: KustomizeRelease,
}

impl<'r> History<'r> {
    pub(crate) fn of(resource: &'r mut Resource, release: KustomizeRelease) -> History<'r> {
        History { resource, release }
    }

    /// Records the current id as a previous one.
    pub(crate) fn note_id(&mut self) {
        let meta = self.resource.meta();
        let namespace = effective_namespace(meta).to_owned();
        let (name, kind) = (meta.name.to_owned(), meta.kind.to_owned());
        let keys = names(self.release);
        self.append(&[
            (keys.previous_names, &name),
            (keys.previous_namespaces, &namespace),
            (keys.previous_kinds, &kind),
        ]);
    }

    pub(crate) fn note_prefix(&mut self, prefix: &str) {
        self.append(&[(names(self.release).prefixes, prefix)]);
    }

    pub(crate) fn note_suffix(&mut self, suffix: &str) {
        self.append(&[(names(self.release).suffixes, suffix)]);
    }

    /// Records the referrers of the resource. Older releases keep them in memory.
    pub(super) fn note_referrers(&mut self, referrers: &[String]) {
        if self.release != KustomizeRelease::Api0_8 && !referrers.is_empty() {
            self.append(&[(REFERRED_BY, &referrers.join(","))]);
        }
    }

    /// Sets an annotation, which rewrites all of them.
    pub(crate) fn set_annotation(&mut self, key: &str, value: String) {
        let mut annotations = self.annotations();
        annotations.insert(key.to_owned(), value);
        set_annotations(self.resource.document_mut(), &annotations);
    }

    /// Removes the recorded annotations, and in newer releases the path annotations. Returns whether the resource
    /// must be parsed again.
    pub(crate) fn forget(&mut self) -> bool {
        let mut annotations = self.annotations();
        if annotations.is_empty() {
            return false;
        }
        let keys = names(self.release);
        for key in keys.all().iter().chain(keys.more) {
            annotations.remove(*key);
        }
        set_annotations(self.resource.document_mut(), &annotations);
        let mut values = annotations.values();
        values.any(|value| !crate::settle::is_surely_plain(value))
    }

    fn annotations(&self) -> BTreeMap<String, String> {
        let own = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
        self.resource.annotations().map(own).collect()
    }

    fn append(&mut self, notes: &[(&str, &str)]) {
        let mut annotations = self.annotations();
        for (key, value) in notes.iter().filter(|(_, value)| !value.is_empty()) {
            let noted = annotations.entry((*key).to_owned());
            let add = |noted: &mut String| {
                noted.push(',');
                noted.push_str(value);
            };
            noted.and_modify(add).or_insert_with(|| (*value).to_owned());
        }
        set_annotations(self.resource.document_mut(), &annotations);
    }
}

/// The previous ids of a resource, oldest first.
pub(super) fn previous_ids(
    resource: &Resource,
    release: KustomizeRelease,
) -> Result<Vec<ResourceId>, PreviousIdsError> {
    let keys = names(release);
    let keys = [
        keys.previous_names,
        keys.previous_namespaces,
        keys.previous_kinds,
    ];
    ResourceId::previous_in(resource, keys)
}

/// The first id of a resource.
pub(crate) fn original_id(
    resource: &Resource,
    release: KustomizeRelease,
) -> Result<ResourceId, PreviousIdsError> {
    let first = previous_ids(resource, release)?.into_iter().next();
    Ok(first.unwrap_or_else(|| ResourceId::of(resource.root())))
}

/// The recorded prefixes and suffixes of a resource.
pub(super) fn affixes(resource: &Resource, release: KustomizeRelease) -> [Vec<String>; 2] {
    let keys = names(release);
    [keys.prefixes, keys.suffixes].map(|key| {
        let noted = resource.annotation(key);
        let parts = noted.into_iter().flat_map(|noted| noted.split(','));
        parts.map(str::to_owned).collect()
    })
}

struct Names {
    previous_kinds: &'static str,
    previous_names: &'static str,
    prefixes: &'static str,
    suffixes: &'static str,
    previous_namespaces: &'static str,
    /// Other annotations that are removed.
    more: &'static [&'static str],
}

impl Names {
    fn all(&self) -> [&'static str; 5] {
        [
            self.previous_kinds,
            self.previous_names,
            self.prefixes,
            self.suffixes,
            self.previous_namespaces,
        ]
    }
}

const REFERRED_BY: &str = "internal.config.kubernetes.io/refBy";

fn names(release: KustomizeRelease) -> &'static Names {
    match release {
        KustomizeRelease::Api0_7
        | KustomizeRelease::Api0_7Kyaml0_10_20
        | KustomizeRelease::Api0_8 => &OLDER,
        _ => &NEWER,
    }
}

static OLDER: Names = Names {
    previous_kinds: "config.kubernetes.io/previousKinds",
    previous_names: "config.kubernetes.io/previousNames",
    prefixes: "config.kubernetes.io/prefixes",
    suffixes: "config.kubernetes.io/suffixes",
    previous_namespaces: "config.kubernetes.io/previousNamespaces",
    more: &[
        "config.kubernetes.io/allowNameChange",
        "config.kubernetes.io/allowKindChange",
    ],
};

static NEWER: Names = Names {
    previous_kinds: "internal.config.kubernetes.io/previousKinds",
    previous_names: "internal.config.kubernetes.io/previousNames",
    prefixes: "internal.config.kubernetes.io/prefixes",
    suffixes: "internal.config.kubernetes.io/suffixes",
    previous_namespaces: "internal.config.kubernetes.io/previousNamespaces",
    more: &[
        "internal.config.kubernetes.io/allowNameChange",
        "internal.config.kubernetes.io/allowKindChange",
        REFERRED_BY,
        "internal.config.kubernetes.io/generatorBehavior",
        "internal.config.kubernetes.io/needsHashSuffix",
        PATH,
        INDEX,
        "internal.config.kubernetes.io/seqindent",
        LEGACY_PATH,
        LEGACY_INDEX,
    ],
};

/// Replaces all annotations.
fn set_annotations(document: &mut Document, annotations: &BTreeMap<String, String>) {
    let root = document.root();
    let metadata = match root.get("metadata") {
        Some(metadata) if metadata.is_mapping() => metadata.id(),
        Some(_) => return,
        None if root.is_mapping() => {
            let root = root.id();
            let key = document.new_scalar("metadata", "");
            let metadata = document.new_mapping_node();
            document.push_entry(root, key, metadata);
            metadata
        }
        None => return,
    };
    let former = {
        let mut entries = document.node(metadata).entries();
        entries.position(|(key, _)| key.value() == "annotations")
    };
    if let Some(former) = former {
        let mut children = document.child_ids(metadata);
        children.drain(former * 2..former * 2 + 2);
        document.set_children(metadata, &children);
    }
    if annotations.is_empty() {
        return;
    }
    let key = document.new_scalar("annotations", "");
    let mapping = document.new_mapping_node();
    document.push_entry(metadata, key, mapping);
    for (key, value) in annotations {
        let key = document.new_scalar(key, "");
        let value = document.new_string(value);
        document.push_entry(mapping, key, value);
    }
}
