//! A Kubernetes resource: a document with type and name.
//!
//! A resource that was read from a file keeps its origin, so that it can be written back with its own bytes if it is
//! unchanged. It is not checked: any mapping is accepted.

use kiln_yaml::{Document, EditError, NodeRef, Slot, Start};

use crate::annotations;
use crate::meta::{self, Meta};
use crate::origin::Origin;

/// One resource and its origin.
#[derive(Clone, Debug)]
pub struct Resource {
    document: Document,
    origin: Option<Origin>,
    /// Whether anything but the annotations about its file may have changed since it was read.
    touched: bool,
    /// Whether it was an item of a list, so that it is not a document of its own.
    is_item: bool,
}

/// A resource's type.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct GroupVersionKind {
    /// The part before the slash of `apiVersion`; empty for the core group.
    pub group: String,
    /// The part behind the slash.
    pub version: String,
    pub kind: String,
}

/// Identifies a resource in a cluster.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct ResourceId {
    pub gvk: GroupVersionKind,
    /// `metadata.namespace`, empty if not given.
    pub namespace: String,
    pub name: String,
}

impl Resource {
    /// A resource without an origin.
    pub fn new(document: Document) -> Resource {
        Resource {
            document,
            origin: None,
            touched: true,
            is_item: false,
        }
    }

    /// A resource that was an item of a list.
    pub(crate) fn item(document: Document) -> Resource {
        Resource {
            is_item: true,
            ..Resource::new(document)
        }
    }

    /// A copy as it is after a round trip in a list, without the comments of the document.
    pub fn to_item(&self) -> Resource {
        let mut document = self.document.clone();
        for slot in Slot::ALL {
            if !document.comment(slot).is_empty() {
                document.set_document_comment(slot, "");
            }
        }
        Resource::item(document)
    }

    /// The resource as an item of a list. Unlike [`Resource::to_item`] it keeps the comments of its document, at its top node.
    #[must_use]
    pub fn into_item(mut self) -> Resource {
        let root = self.root().id();
        for slot in Slot::ALL {
            let comment = self.document.comment(slot).to_owned();
            if comment.is_empty() {
                continue;
            }
            self.document.set_document_comment(slot, "");
            let own = self.root().comment(slot);
            let both = match own.is_empty() {
                true => comment,
                false => format!("{comment}\n{own}"),
            };
            self.document.set_comment(root, slot, &both);
        }
        self.is_item = true;
        self
    }

    pub(crate) fn from_file(document: Document, origin: Origin) -> Resource {
        Resource {
            document,
            origin: Some(origin),
            touched: false,
            is_item: false,
        }
    }

    pub fn document(&self) -> &Document {
        &self.document
    }

    /// The document, to be changed.
    pub fn document_mut(&mut self) -> &mut Document {
        self.touched = true;
        &mut self.document
    }

    /// The document alone.
    pub fn into_document(self) -> Document {
        self.document
    }

    /// The top node.
    pub fn root(&self) -> NodeRef<'_> {
        self.document.root()
    }

    /// Where the resource's tree begins: an item of a list has no document of its own.
    pub fn start(&self) -> Start {
        match self.is_item {
            true => Start::Node(self.root().id()),
            false => Start::Document,
        }
    }

    /// Where the resource was read from.
    pub fn origin(&self) -> Option<&Origin> {
        self.origin.as_ref()
    }

    /// Sets the origin, after the tree was replaced by the output of a function.
    #[must_use]
    pub fn with_origin(mut self, origin: Option<Origin>) -> Resource {
        self.origin = origin;
        self.touched = true;
        self
    }

    /// The resource as an edit of `input`: with the comments of its document, and from where it was read.
    #[must_use]
    pub fn as_edit_of(mut self, input: &Resource) -> Resource {
        for slot in [Slot::Head, Slot::Foot] {
            let comment = input.document.comment(slot);
            if self.document.comment(slot) != comment {
                self.document.set_document_comment(slot, comment);
            }
        }
        Resource {
            document: self.document,
            origin: input.origin.clone(),
            touched: true,
            is_item: input.is_item,
        }
    }

    pub(crate) fn is_touched(&self) -> bool {
        self.touched
    }

    /// What identifies the resource.
    pub fn meta(&self) -> Meta<'_> {
        Meta::of(self.root())
    }

    /// `apiVersion`; empty if not given.
    pub fn api_version(&self) -> &str {
        self.meta().api_version
    }

    /// `kind`; empty if not given.
    pub fn kind(&self) -> &str {
        self.meta().kind
    }

    /// `metadata.name`; empty if not given.
    pub fn name(&self) -> &str {
        self.meta().name
    }

    /// `metadata.namespace`; empty if not given.
    pub fn namespace(&self) -> &str {
        self.meta().namespace
    }

    /// The type.
    pub fn gvk(&self) -> GroupVersionKind {
        let meta = self.meta();
        let (group, version) = meta
            .api_version
            .split_once('/')
            .unwrap_or(("", meta.api_version));
        GroupVersionKind {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: meta.kind.to_owned(),
        }
    }

    /// The type, namespace and name.
    pub fn id(&self) -> ResourceId {
        let meta = self.meta();
        ResourceId {
            gvk: self.gvk(),
            namespace: meta.namespace.to_owned(),
            name: meta.name.to_owned(),
        }
    }

    /// An annotation's value; empty if it is null.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        meta::annotation(self.root(), key)
    }

    /// All annotations in order.
    pub fn annotations(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs("annotations")
    }

    /// A label's value; empty if it is null.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels()
            .find(|(candidate, _)| *candidate == key)
            .map(|(_, value)| value)
    }

    /// All labels in order.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs("labels")
    }

    fn pairs(&self, field: &str) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.root().get_path(&["metadata", field]);
        pairs
            .into_iter()
            .flat_map(NodeRef::entries)
            .map(|(key, value)| (key.value(), value.as_text().unwrap_or_default()))
    }

    /// The file of the resource and its index in it; empty if missing.
    pub fn file_place(&self) -> (&str, &str) {
        meta::file_place(self.root())
    }

    pub fn set_annotation(&mut self, key: &str, value: &str) -> Result<(), EditError> {
        self.touched |= !annotations::is_place(key);
        self.document.root_mut().set_annotation(key, value)?;
        Ok(())
    }

    /// Removes an annotation; the map stays, even if empty.
    pub fn remove_annotation(&mut self, key: &str) -> Result<(), EditError> {
        self.touched |= !annotations::is_place(key);
        self.document.root_mut().clear_annotation(key)?;
        Ok(())
    }

    pub fn set_label(&mut self, key: &str, value: &str) -> Result<(), EditError> {
        self.touched = true;
        self.document.root_mut().set_label(key, value)?;
        Ok(())
    }

    /// Removes annotations, then `annotations` and `metadata` if they are empty.
    pub fn clear_annotations(&mut self, keys: &[&str]) -> Result<(), EditError> {
        self.remove_annotations(keys)?;
        self.document.root_mut().clear_empty_annotations()
    }

    /// Removes annotations, each as [`Resource::remove_annotation`] does.
    pub fn remove_annotations(&mut self, keys: &[&str]) -> Result<(), EditError> {
        self.touched |= !keys.iter().all(|key| annotations::is_place(key));
        self.document.root_mut().clear_annotations(keys)
    }
}

#[cfg(test)]
mod tests;
