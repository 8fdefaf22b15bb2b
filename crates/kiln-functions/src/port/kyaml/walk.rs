//! The walk over a resource that many functions of the catalog make: mappings before what is in them, values in order.
//!
//! A visitor may change the tree. What it puts into a collection that is still to be entered is walked over too; aliases
//! are not followed. The walk keeps its own stack, so depth costs no call frames. It ends early when the call is to stop.

use std::collections::HashMap;
use std::fmt::Write;

use kiln_yaml::{Document, Kind, NodeId, NodeRef};

use crate::budget::is_stopped;

/// What is done on the walk. Paths are kyaml's, unless a visitor has its own: `.spec.containers[0].image`.
pub(crate) trait Visitor {
    /// Why the walk ends early.
    type Error;

    /// Adds a key to a path.
    fn step_into(&self, key: NodeRef<'_>, path: &mut String) {
        path.push('.');
        path.push_str(key.value());
    }

    /// Looks at a mapping: its keys and values.
    fn mapping(
        &mut self,
        document: &mut Document,
        entries: &[(NodeId, NodeId)],
        path: &str,
    ) -> Result<(), Self::Error>;

    /// Looks at a scalar that is a value or an item.
    fn scalar(
        &mut self,
        document: &mut Document,
        node: NodeId,
        path: &str,
    ) -> Result<(), Self::Error>;
}

/// Walks over a whole document.
pub(crate) fn walk<V: Visitor>(document: &mut Document, visitor: &mut V) -> Result<(), V::Error> {
    let mut path = String::new();
    let mut open: Vec<Frame> = Vec::new();
    let root = document.root().id();
    open.extend(enter(document, visitor, root, &path)?);
    while let Some(frame) = open.last_mut() {
        if is_stopped() {
            break;
        }
        path.truncate(frame.base);
        let next = match &mut frame.children {
            Children::Entries(entries) => entries.next().map(|(key, value)| {
                visitor.step_into(document.node(key), &mut path);
                value
            }),
            Children::Items(items) => items.next().map(|(index, item)| {
                // Writing to a string cannot fail.
                let _ = write!(path, "[{index}]");
                item
            }),
        };
        match next {
            Some(node) => open.extend(enter(document, visitor, node, &path)?),
            None => {
                open.pop();
            }
        }
    }
    Ok(())
}

/// The fields of a mapping: a pair for each key, and of a key given twice the first pair both times.
pub(crate) fn fields(document: &Document, mapping: NodeId) -> Vec<(NodeId, NodeId)> {
    let entries = document.node(mapping).entries();
    let mut first: HashMap<&str, (NodeId, NodeId)> = HashMap::new();
    entries
        .map(|(key, value)| {
            *first
                .entry(key.value())
                .or_insert_with(|| (key.id(), value.id()))
        })
        .collect()
}

struct Frame {
    /// The length of the path to the collection.
    base: usize,
    children: Children,
}

enum Children {
    Entries(std::vec::IntoIter<(NodeId, NodeId)>),
    Items(std::iter::Enumerate<std::vec::IntoIter<NodeId>>),
}

fn enter<V: Visitor>(
    document: &mut Document,
    visitor: &mut V,
    node: NodeId,
    path: &str,
) -> Result<Option<Frame>, V::Error> {
    let children = match document.node(node).kind() {
        Kind::Mapping => {
            let entries = fields(document, node);
            visitor.mapping(document, &entries, path)?;
            Children::Entries(entries.into_iter())
        }
        Kind::Sequence => Children::Items(document.child_ids(node).into_iter().enumerate()),
        Kind::Scalar => {
            visitor.scalar(document, node, path)?;
            return Ok(None);
        }
        Kind::Alias => return Ok(None),
    };
    let base = path.len();
    Ok(Some(Frame { base, children }))
}
