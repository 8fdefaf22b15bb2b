//! Editing a tree as kyaml does: by path, with its rules for styles, quotes and what is created on the way.
//!
//! [`NodeMut`] is a node together with its document, for changing. Invariants: a change marks the document as changed
//! and touches nothing but the node asked for; an edit that finds nothing to do leaves the document unchanged.
//! Where kyaml writes into a null (`metadata:` without a value) the result is never seen; here such an edit does
//! nothing and returns `None`. Aliases are not followed: to kyaml they are nodes of a kind of their own.

mod error;
mod fields;
mod lookup;
mod meta;
mod path;

pub use error::EditError;
pub(crate) use error::node_text;

use crate::document::Document;
use crate::node::{Kind, NodeId, Style};
use crate::noderef::NodeRef;

/// A node of a document, for changing what is below it.
#[derive(Debug)]
pub struct NodeMut<'a> {
    doc: &'a mut Document,
    id: NodeId,
}

impl Document {
    /// The top node, for changing.
    pub fn root_mut(&mut self) -> NodeMut<'_> {
        self.node_mut(self.root)
    }

    /// The node behind an id of this document, for changing.
    pub fn node_mut(&mut self, id: NodeId) -> NodeMut<'_> {
        NodeMut { doc: self, id }
    }
}

impl<'a> NodeRef<'a> {
    /// The node at a path below this one.
    ///
    /// A path element is a key, an index, `-` for the last item, `[key=value]` for the first item that has this
    /// field, or `[=value]` for the first item with this text. Blanks around an element do not count, and empty
    /// elements are skipped. A number is always an index, never a key.
    pub fn lookup(self, path: &[&str]) -> Result<Option<NodeRef<'a>>, EditError> {
        lookup::lookup(self, path)
    }
}

impl NodeMut<'_> {
    /// The node, for reading.
    pub fn as_ref(&self) -> NodeRef<'_> {
        self.doc.node(self.id)
    }

    /// The node at a path, created with everything on the way where it is missing; a new last node is of this kind.
    ///
    /// Items addressed by number or `-` are not created.
    pub fn lookup_create(
        &mut self,
        path: &[&str],
        kind: Kind,
    ) -> Result<Option<NodeId>, EditError> {
        lookup::lookup_create(self.doc, self.id, path, kind)
    }

    /// Sets the field at a path to a new node, creating the mappings on the way; a null removes the field.
    ///
    /// The new value keeps the style of the old one, but not its comments and its anchor. A new string that a YAML 1.1
    /// reader would not read as a string gets double quotes. Returns the node now in place.
    pub fn set(&mut self, path: &[&str], value: NodeId) -> Result<Option<NodeId>, EditError> {
        let Some((name, parents)) = path.split_last() else {
            return Err(EditError::EmptyPath);
        };
        match self.lookup_create(parents, Kind::Mapping)? {
            Some(parent) => self.doc.set_field(parent, name, value),
            None => Ok(None),
        }
    }

    /// Sets the field at a path to a string, literal if it is new and has several lines; see [`NodeMut::set`].
    pub fn set_string(&mut self, path: &[&str], value: &str) -> Result<Option<NodeId>, EditError> {
        let node = self.doc.new_string(value);
        if value.contains('\n') {
            self.doc.set_new_style(node, Style::LITERAL);
        }
        self.set(path, node)
    }

    /// Removes the field at a path; returns false if it does not exist.
    pub fn remove(&mut self, path: &[&str]) -> Result<bool, EditError> {
        let Some((name, parents)) = path.split_last() else {
            return Err(EditError::EmptyPath);
        };
        match self.as_ref().lookup(parents)?.map(NodeRef::id) {
            Some(parent) => self.doc.clear_field(parent, name),
            None => Ok(false),
        }
    }

    /// Appends an item to the sequence at a path, creating it where it is missing.
    pub fn append(&mut self, path: &[&str], item: NodeId) -> Result<Option<NodeId>, EditError> {
        let Some(list) = self.lookup_create(path, Kind::Sequence)? else {
            return Ok(None);
        };
        let node = self.doc.node(list);
        error::expect_kind(node, Kind::Sequence)?;
        if !node.is_sequence() {
            return Ok(None);
        }
        self.doc.push_item(list, item);
        Ok(Some(item))
    }
}
