//! Why an edit is not possible, in kyaml's words where kyaml has some.

use std::fmt;

use crate::document::Document;
use crate::emit::{SequenceStyle, to_string};
use crate::node::Kind;
use crate::noderef::NodeRef;

/// Why an edit is not possible.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EditError {
    /// A node is of another kind than the path or the edit needs.
    WrongKind {
        expected: Kind,
        found: Kind,
        /// The node as text.
        contents: String,
    },
    /// An index below zero.
    NegativeIndex(i64),
    /// `*` as a path element.
    Wildcard,
    /// `[…]` without `=`.
    ItemWithoutValue,
    /// `-` on an empty list.
    NoLastItem,
    /// A path with no element to set or remove.
    EmptyPath,
}

impl EditError {
    pub(crate) fn wrong_kind(expected: Kind, node: NodeRef<'_>) -> EditError {
        EditError::WrongKind {
            expected,
            found: node.kind(),
            contents: node_text(node),
        }
    }
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EditError::WrongKind {
                expected,
                found,
                contents,
            } => write!(
                f,
                "wrong node kind: expected {} but got {}: node contents:\n{contents}",
                expected.go_name(),
                found.go_name(),
            ),
            EditError::NegativeIndex(index) => {
                write!(f, "array index {index} cannot be negative")
            }
            EditError::Wildcard => f.write_str("wildcard is not supported in PathGetter"),
            EditError::ItemWithoutValue => f.write_str(
                "list path element must contain fieldName=fieldValue for element to match",
            ),
            EditError::NoLastItem => f.write_str("an empty list has no last item"),
            EditError::EmptyPath => f.write_str("an empty path names no field"),
        }
    }
}

impl std::error::Error for EditError {}

/// An error unless the node is of this kind; nulls count as any kind.
pub(crate) fn expect_kind(node: NodeRef<'_>, kind: Kind) -> Result<(), EditError> {
    if node.kind() == kind || node.is_tagged_null() {
        return Ok(());
    }
    Err(EditError::wrong_kind(kind, node))
}

/// A node written as a document of its own.
pub(crate) fn node_text(node: NodeRef<'_>) -> String {
    to_string(&Document::from_node(node), SequenceStyle::Compact)
}
