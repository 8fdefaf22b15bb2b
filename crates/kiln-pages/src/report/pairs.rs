//! Finds the resources of one version of a file in the other.

use std::collections::BTreeMap;

use kiln_yaml::{Document, NodeRef};

use super::model::resource_title;

/// A resource and what identifies it.
#[derive(Clone, Copy)]
pub(super) struct Identified<'a> {
    pub(super) group: &'a str,
    pub(super) kind: &'a str,
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
    pub(super) document: &'a Document,
}

impl<'a> Identified<'a> {
    fn of(document: &'a Document) -> Identified<'a> {
        let text = |path: &[&str]| document.root().get_path(path).map_or("", NodeRef::value);
        let api_version = text(&["apiVersion"]);
        Identified {
            group: api_version.split_once('/').map_or("", |(group, _)| group),
            kind: text(&["kind"]),
            namespace: text(&["metadata", "namespace"]),
            name: text(&["metadata", "name"]),
            document,
        }
    }

    pub(super) fn title(&self) -> String {
        resource_title(self.kind, self.namespace, self.name)
    }
}

/// What a later version may have in common with an earlier one, the most first: a function may change the namespace of a resource
/// or the group of its kind, and it remains the same resource.
const IDENTITIES: [fn(Identified<'_>) -> [&str; 4]; 4] = [
    |of| [of.group, of.kind, of.namespace, of.name],
    |of| [of.group, of.kind, "", of.name],
    |of| ["", of.kind, of.namespace, of.name],
    |of| ["", of.kind, "", of.name],
];

/// The resources of both versions of a file.
pub(super) struct VersionPairs<'a> {
    /// Those of the later version, with what they were.
    pub(super) current: Vec<(Option<Identified<'a>>, Identified<'a>)>,
    /// Those that only the earlier version has.
    pub(super) gone: Vec<Identified<'a>>,
}

impl<'a> VersionPairs<'a> {
    pub(super) fn of(before: &'a [Document], after: &'a [Document]) -> VersionPairs<'a> {
        let after = after.iter().map(Identified::of);
        let mut pairs = VersionPairs {
            current: after.map(|one| (None, one)).collect(),
            gone: before.iter().map(Identified::of).collect(),
        };
        for identity in IDENTITIES {
            pairs.find(identity, |count, others| count.min(others));
        }
        pairs
    }

    /// Takes the only one of its kind that is left in both versions for one resource, which was renamed.
    pub(super) fn find_renamed(&mut self) {
        self.find(
            |of| ["", of.kind, "", ""],
            |count, others| usize::from(count == 1 && others == 1),
        );
    }

    /// VersionPairs what is left and has the same identity, in order. `most` says how many, given the numbers of both sides.
    fn find(&mut self, identity: fn(Identified<'_>) -> [&str; 4], most: fn(usize, usize) -> usize) {
        if self.gone.is_empty() {
            return;
        }
        let mut earlier: BTreeMap<[&str; 4], Vec<usize>> = BTreeMap::new();
        for (index, one) in self.gone.iter().enumerate() {
            earlier.entry(identity(*one)).or_default().push(index);
        }
        let mut later: BTreeMap<[&str; 4], Vec<&mut Option<Identified<'a>>>> = BTreeMap::new();
        let left = self.current.iter_mut().filter(|(found, _)| found.is_none());
        for (slot, one) in left {
            later.entry(identity(*one)).or_default().push(slot);
        }
        let mut found = vec![false; self.gone.len()];
        for (identity, slots) in later {
            let indices = earlier.remove(&identity).unwrap_or_default();
            let count = most(indices.len(), slots.len());
            for (index, slot) in indices.into_iter().zip(slots).take(count) {
                *slot = self.gone.get(index).copied();
                if let Some(found) = found.get_mut(index) {
                    *found = true;
                }
            }
        }
        let mut found = found.into_iter();
        self.gone.retain(|_| !found.next().unwrap_or_default());
    }
}
