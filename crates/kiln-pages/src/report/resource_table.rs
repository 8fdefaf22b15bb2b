//! The resources of a report, each once, with the steps that touched it.

use std::collections::HashMap;

use super::build::TouchedResource;
use super::model::{ReportChange, ResourceReport};
use super::resource_changes::{ResourceChange, ResourceChanges, resource_key};

pub(super) struct ResourceTable<'a> {
    changes: &'a ResourceChanges,
    /// What happened to a resource that is in no file.
    without_file: ReportChange,
    rows: Vec<ResourceReport>,
    /// By [`resource_key`] of kind, name and file, and of what resources of one name differ in.
    indices: HashMap<String, usize>,
}

impl<'a> ResourceTable<'a> {
    pub(super) fn new(
        changes: &'a ResourceChanges,
        without_file: ReportChange,
    ) -> ResourceTable<'a> {
        ResourceTable {
            changes,
            without_file,
            rows: Vec::new(),
            indices: HashMap::new(),
        }
    }

    /// The index of the row of a resource that this step touched.
    pub(super) fn touch(&mut self, touched: TouchedResource, step: usize) -> usize {
        let TouchedResource { id, file } = touched;
        let found = self.changes.find(&file, &id);
        let scope = found.and_then(ResourceChange::scope);
        let (group, namespace) = scope.unwrap_or((&id.gvk.group, &id.namespace));
        let key = resource_key(&[&id.gvk.kind, &id.name, &file, group, namespace]);
        let index = *self.indices.entry(key).or_insert(self.rows.len());
        if index == self.rows.len() {
            self.rows.push(ResourceReport {
                api_version: match id.gvk.group.as_str() {
                    "" => id.gvk.version,
                    group => format!("{group}/{}", id.gvk.version),
                },
                kind: id.gvk.kind,
                namespace: String::new(),
                name: id.name,
                file,
                change: found.map_or(self.without_file, ResourceChange::change),
                steps: Vec::new(),
            });
        }
        if let Some(row) = self.rows.get_mut(index) {
            row.namespace = id.namespace;
            if row.steps.last() != Some(&step) {
                row.steps.push(step);
            }
        }
        index
    }

    pub(super) fn into_rows(self) -> Vec<ResourceReport> {
        self.rows
    }
}
