//! Bringing the comments of an original tree to a changed one.
//!
//! Functions written with other libraries drop comments; this puts them back on the nodes they stood at. A comment
//! that the changed tree has wins. Fields are matched by name, list items by index and, where [`ListKeys`] knows the
//! list, also by key. The rules are those of kyaml's `CopyComments`, with its errors and its turning of folded
//! scalars into double-quoted ones. Kubernetes' types are not known here: a [`ListKeys`] provides them.
//!
//! Time is near linear: fields and items are found through sorted lists and hash maps.

mod fields;
mod keyed;
mod walk;

use crate::document::{Document, Slot};
use crate::edit::EditError;
use crate::node::NodeId;

/// Where a tree begins: with a document, whose own comments take part, or with a node.
///
/// An item of a list has no document of its own, even after it was copied into one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    Document,
    /// A node and what is below it.
    Node(NodeId),
}

impl Start {
    pub(crate) fn node(self, doc: &Document) -> NodeId {
        match self {
            Start::Document => doc.root,
            Start::Node(node) => node,
        }
    }

    fn comment(self, doc: &Document, slot: Slot) -> &str {
        match self {
            Start::Document => doc.comment(slot),
            Start::Node(node) => doc.node(node).comment(slot),
        }
    }
}

/// A type that a [`ListKeys`] knows; what the number means is its own affair.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct TypeId(pub u32);

/// Which lists have items that are identified by keys.
///
/// Types are looked up on the way down from a resource, so an implementation is a graph of types.
pub trait ListKeys {
    fn resource(&self, api_version: &str, kind: &str) -> Option<TypeId>;

    fn field(&self, of: TypeId, name: &str) -> Option<TypeId>;

    fn item(&self, of: TypeId) -> Option<TypeId>;

    /// The fields that identify the items of a list; no names for a set of scalars, `None` for a list that is only a
    /// sequence.
    fn keys(&self, of: TypeId) -> Option<&[&str]>;

    /// The type that a comment declares for what it stands at, given without its `#`.
    fn declared(&self, comment: &str) -> Option<TypeId>;
}

/// Knows no type, so that lists are matched by index only.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoListKeys;

impl ListKeys for NoListKeys {
    fn resource(&self, _: &str, _: &str) -> Option<TypeId> {
        None
    }

    fn field(&self, _: TypeId, _: &str) -> Option<TypeId> {
        None
    }

    fn item(&self, _: TypeId) -> Option<TypeId> {
        None
    }

    fn keys(&self, _: TypeId) -> Option<&[&str]> {
        None
    }

    fn declared(&self, _: &str) -> Option<TypeId> {
        None
    }
}

/// Copies the comments of `from` to the same places of `to` where `to` has none.
///
/// Fails where a field is of another kind than before, where a mapping has a key without text (such as a sequence), and
/// where a list that is keyed holds something without fields. After an error some comments have been copied.
pub fn copy_comments(
    from: (&Document, Start),
    to: (&mut Document, Start),
    keys: &dyn ListKeys,
) -> Result<(), EditError> {
    copy_own_comments(from, (&mut *to.0, to.1));
    walk::CommentMerge::new(from, to, keys, Mismatch::Fail).run()
}

/// The same, but items of lists are those that [`crate::pair_items`] finds, and what cannot be compared is passed over: a
/// field that is of another kind now keeps the comments of its key.
pub fn copy_matching_comments(
    from: (&Document, Start),
    to: (&mut Document, Start),
    keys: &dyn ListKeys,
) {
    copy_own_comments(from, (&mut *to.0, to.1));
    // Every error is a mismatch, which is passed over.
    let _ = walk::CommentMerge::new(from, to, keys, Mismatch::PassOver).run();
}

/// What happens where two trees cannot be compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mismatch {
    Fail,
    PassOver,
}

/// Copies the comments of what the trees begin with.
fn copy_own_comments(
    (from, from_start): (&Document, Start),
    (to, to_start): (&mut Document, Start),
) {
    for slot in SLOTS {
        let comment = from_start.comment(from, slot);
        if comment.is_empty() || !to_start.comment(to, slot).is_empty() {
            continue;
        }
        match to_start {
            Start::Document => to.set_document_comment(slot, comment),
            Start::Node(node) => to.set_comment(node, slot, comment),
        }
    }
}

const SLOTS: [Slot; 3] = [Slot::Line, Slot::Head, Slot::Foot];
