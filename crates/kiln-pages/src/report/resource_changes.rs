//! What happened to the resources of the files that changed.

use std::collections::BTreeMap;

use kiln_krm::ResourceId;

use super::changed_files::FileVersion;
use super::model::ReportChange;
use super::pairs::{Identified, VersionPairs};

/// The resources of the files that changed.
#[derive(Default)]
pub(super) struct ResourceChanges {
    /// By file, kind and name.
    resources: BTreeMap<(String, String, String), Vec<ResourceChange>>,
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
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct ResourceScope {
    group: String,
    namespace: String,
}

impl ResourceScope {
    pub(super) fn of(id: &ResourceId) -> ResourceScope {
        ResourceScope {
            group: id.gvk.group.clone(),
            namespace: id.namespace.clone(),
        }
    }

    fn of_resource(resource: Identified<'_>) -> ResourceScope {
        ResourceScope {
            group: resource.group.to_owned(),
            namespace: resource.namespace.to_owned(),
        }
    }
}

impl ResourceChange {
    /// The same for all steps, whatever the resource was called meanwhile.
    pub(super) fn scope(&self) -> Option<&ResourceScope> {
        self.after.as_ref().or(self.before.as_ref())
    }

    pub(super) fn change(&self) -> ReportChange {
        self.change
    }
}

impl ResourceChanges {
    pub(super) fn add(&mut self, path: &str, changes: Vec<ResourceChange>) {
        for change in changes {
            let key = (path.to_owned(), change.kind.clone(), change.name.clone());
            self.resources.entry(key).or_default().push(change);
        }
    }

    /// The resource of a file that a step touched: what it is after the run, what it was before, or the only one with its name,
    /// which was something else between two steps.
    pub(super) fn find(&self, path: &str, id: &ResourceId) -> Option<&ResourceChange> {
        let key = (path.to_owned(), id.gvk.kind.clone(), id.name.clone());
        let named = self.resources.get(&key)?;
        let scope = ResourceScope::of(id);
        let of_scope = |version: fn(&ResourceChange) -> &Option<ResourceScope>| {
            let mut named = named.iter();
            named.find(|one| version(one).as_ref() == Some(&scope))
        };
        let exact = of_scope(|one| &one.after).or_else(|| of_scope(|one| &one.before));
        exact.or(match named.as_slice() {
            [only] => Some(only),
            _ => None,
        })
    }
}

pub(super) fn resource_changes(before: &FileVersion, after: &FileVersion) -> Vec<ResourceChange> {
    let pairs = VersionPairs::of(&before.documents, &after.documents);
    let kept = pairs.current.into_iter().map(|(previous, current)| {
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
            before: previous.map(ResourceScope::of_resource),
            after: Some(ResourceScope::of_resource(current)),
            change,
        }
    });
    let gone = pairs.gone.into_iter().map(|previous| ResourceChange {
        kind: previous.kind.to_owned(),
        name: previous.name.to_owned(),
        before: Some(ResourceScope::of_resource(previous)),
        after: None,
        change: ReportChange::Deleted,
    });
    kept.chain(gone).collect()
}
