//! What happened to the resources of the files that changed.

use std::collections::HashMap;

use kiln_krm::ResourceId;

use super::model::ReportChange;
use super::pairs::{Identified, VersionPairs};

/// The resources of the files that changed.
#[derive(Default)]
pub(super) struct ResourceChanges {
    /// By [`resource_key`] of file, kind and name.
    resources: HashMap<String, Vec<ResourceChange>>,
}

/// The parts of what identifies a resource as one text, so that looking for it costs one allocation. No part has a NUL.
pub(super) fn resource_key(parts: &[&str]) -> String {
    parts.join("\0")
}

/// What happened to a resource of a file.
#[derive(Clone)]
pub(super) struct ResourceChange {
    kind: String,
    name: String,
    before: Option<ResourceScope>,
    after: Option<ResourceScope>,
    change: ReportChange,
}

/// What two resources of one kind and name differ in. A function may change it.
#[derive(Clone)]
pub(super) struct ResourceScope {
    group: String,
    namespace: String,
}

impl ResourceScope {
    fn is_of(&self, id: &ResourceId) -> bool {
        (&self.group, &self.namespace) == (&id.gvk.group, &id.namespace)
    }

    pub(super) fn parts(&self) -> (&str, &str) {
        (&self.group, &self.namespace)
    }

    fn of_resource(resource: &Identified<'_>) -> ResourceScope {
        ResourceScope {
            group: resource.group.to_owned(),
            namespace: resource.namespace.to_owned(),
        }
    }
}

impl ResourceChange {
    /// Group and namespace: the same for all steps, whatever the resource was called meanwhile.
    pub(super) fn scope(&self) -> Option<(&str, &str)> {
        let scope = self.after.as_ref().or(self.before.as_ref());
        scope.map(ResourceScope::parts)
    }

    pub(super) fn change(&self) -> ReportChange {
        self.change
    }
}

impl ResourceChanges {
    pub(super) fn add(&mut self, path: &str, changes: Vec<ResourceChange>) {
        for change in changes {
            let key = resource_key(&[path, &change.kind, &change.name]);
            self.resources.entry(key).or_default().push(change);
        }
    }

    /// The resource of a file that a step touched: what it is after the run, what it was before, or the only one with its name,
    /// which was something else between two steps.
    pub(super) fn find(&self, path: &str, id: &ResourceId) -> Option<&ResourceChange> {
        let key = resource_key(&[path, &id.gvk.kind, &id.name]);
        let named = self.resources.get(&key)?;
        let of_scope = |version: fn(&ResourceChange) -> &Option<ResourceScope>| {
            let mut named = named.iter();
            named.find(|one| version(one).as_ref().is_some_and(|scope| scope.is_of(id)))
        };
        let exact = of_scope(|one| &one.after).or_else(|| of_scope(|one| &one.before));
        exact.or(match named.as_slice() {
            [only] => Some(only),
            _ => None,
        })
    }
}

pub(super) fn resource_changes(pairs: &VersionPairs<'_>) -> Vec<ResourceChange> {
    let kept = pairs.current.iter().map(|(previous, current)| {
        let change = match previous {
            None => ReportChange::Added,
            Some(previous) if previous.document.source_text() == current.document.source_text() => {
                ReportChange::Unchanged
            }
            Some(_) => ReportChange::Changed,
        };
        ResourceChange {
            kind: current.kind.to_owned(),
            name: current.name.to_owned(),
            before: previous.as_ref().map(ResourceScope::of_resource),
            after: Some(ResourceScope::of_resource(current)),
            change,
        }
    });
    let gone = pairs.gone.iter().map(|previous| ResourceChange {
        kind: previous.kind.to_owned(),
        name: previous.name.to_owned(),
        before: Some(ResourceScope::of_resource(previous)),
        after: None,
        change: ReportChange::Deleted,
    });
    kept.chain(gone).collect()
}
