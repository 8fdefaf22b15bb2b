//! The parts of `metadata` that every KRM tool sets: annotations, labels, name, namespace.

use super::NodeMut;
use super::error::EditError;
use crate::node::{Kind, NodeId, Style};
use crate::noderef::NodeRef;

const METADATA: &str = "metadata";
const ANNOTATIONS: &str = "annotations";
const LABELS: &str = "labels";

impl NodeMut<'_> {
    /// Sets an annotation: single-quoted if it is new, otherwise in the style it has.
    ///
    /// Empty or null `annotations` and `metadata` are dropped first, so that new ones come last.
    pub fn set_annotation(&mut self, key: &str, value: &str) -> Result<Option<NodeId>, EditError> {
        self.clear_empty_annotations()?;
        self.set_quoted(ANNOTATIONS, key, value)
    }

    /// Sets a label: single-quoted if it is new, otherwise in the style it has.
    pub fn set_label(&mut self, key: &str, value: &str) -> Result<Option<NodeId>, EditError> {
        self.set_quoted(LABELS, key, value)
    }

    /// Removes an annotation; returns false if it does not exist. An empty `annotations` stays.
    pub fn clear_annotation(&mut self, key: &str) -> Result<bool, EditError> {
        self.remove(&[METADATA, ANNOTATIONS, key])
    }

    /// Removes `metadata.annotations` if it has no fields, then `metadata` likewise.
    pub fn clear_empty_annotations(&mut self) -> Result<(), EditError> {
        let top = self.id;
        if let Some(metadata) = self.as_ref().lookup(&[METADATA])?.map(NodeRef::id) {
            self.doc
                .clear_field_if(metadata, ANNOTATIONS, |value| value.is_empty())?;
        }
        self.doc
            .clear_field_if(top, METADATA, |value| value.is_empty())?;
        Ok(())
    }

    /// Sets `metadata.name`.
    pub fn set_name(&mut self, name: &str) -> Result<Option<NodeId>, EditError> {
        self.set_string(&[METADATA, "name"], name)
    }

    /// Sets `metadata.namespace`.
    pub fn set_namespace(&mut self, namespace: &str) -> Result<Option<NodeId>, EditError> {
        self.set_string(&[METADATA, "namespace"], namespace)
    }

    fn set_quoted(
        &mut self,
        field: &str,
        key: &str,
        value: &str,
    ) -> Result<Option<NodeId>, EditError> {
        let Some(parent) = self.lookup_create(&[METADATA, field], Kind::Mapping)? else {
            return Ok(None);
        };
        let value = self.doc.new_string(value);
        self.doc.set_new_style(value, Style::SINGLE_QUOTED);
        self.doc.set_field(parent, key, value)
    }
}
