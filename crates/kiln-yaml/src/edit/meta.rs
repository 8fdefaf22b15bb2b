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
        if let Some(annotations) = self.as_ref().filled_annotations() {
            return self.set_new_quoted(annotations.id(), key, value);
        }
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

    /// Removes several annotations, each as [`NodeMut::clear_annotation`] does, in one pass.
    pub fn clear_annotations(&mut self, keys: &[&str]) -> Result<(), EditError> {
        if let Some(annotations) = self.as_ref().filled_annotations() {
            let annotations = annotations.id();
            self.doc.clear_fields(annotations, keys);
            return Ok(());
        }
        for key in keys {
            self.clear_annotation(key)?;
        }
        Ok(())
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
        self.set_new_quoted(parent, key, value)
    }

    fn set_new_quoted(
        &mut self,
        parent: NodeId,
        key: &str,
        value: &str,
    ) -> Result<Option<NodeId>, EditError> {
        let value = self.doc.new_string(value);
        self.doc.set_new_style(value, Style::SINGLE_QUOTED);
        self.doc.set_field(parent, key, value)
    }
}

impl<'a> NodeRef<'a> {
    /// The annotations, if no field has to be created, and none removed for being empty, before one is set or removed.
    fn filled_annotations(self) -> Option<NodeRef<'a>> {
        self.filled_mapping(METADATA)?.filled_mapping(ANNOTATIONS)
    }

    /// The first field of this name, if it is a mapping and no field of this name is empty.
    fn filled_mapping(self, name: &str) -> Option<NodeRef<'a>> {
        let mut fields = self.entries().filter(|(key, _)| key.has_value(name));
        let (_, first) = fields.next()?;
        let is_filled = |field: NodeRef<'_>| !field.is_empty();
        let are_filled = is_filled(first) && fields.all(|(_, field)| is_filled(field));
        (are_filled && first.is_mapping()).then_some(first)
    }
}
