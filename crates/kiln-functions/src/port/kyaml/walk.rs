//! The walk over a resource that many functions use: mappings before their content, values in order.
//!
//! A visitor may change the tree. Nodes that it adds to a collection that has not been entered yet are visited too;
//! aliases are not followed. The walk keeps its own stack, so depth costs no call frames. It ends early when the call
//! must stop.

use std::collections::HashMap;
use std::fmt::Write;

use kiln_yaml::{Document, Kind, NodeId, NodeRef};

use crate::budget::is_stopped;

/// The callbacks of the walk. Paths are kyaml's, unless a visitor overrides them: `.spec.containers[0].image`.
pub(crate) trait Visitor {
    type Error;

    fn step_into(&self, key: NodeRef<'_>, path: &mut String) {
        path.push('.');
        path.push_str(key.value());
    }

    fn mapping(
        &mut self,
        document: &mut Document,
        entries: &[(NodeId, NodeId)],
        path: &str,
    ) -> Result<(), Self::Error>;

    /// Visits a scalar that is a value or an item.
    fn scalar(
        &mut self,
        document: &mut Document,
        node: NodeId,
        path: &str,
    ) -> Result<(), Self::Error>;
}

pub(crate) fn walk<V: Visitor>(document: &mut Document, visitor: &mut V) -> Result<(), V::Error> {
    let mut path = String::new();
    let mut open: Vec<OpenNode> = Vec::new();
    let root = document.root().id();
    open.extend(enter(document, visitor, root, &path)?);
    while let Some(frame) = open.last_mut() {
        if is_stopped() {
            break;
        }
        path.truncate(frame.base);
        let next = match &mut frame.children {
            PendingChildren::Entries(entries) => entries.next().map(|(key, value)| {
                visitor.step_into(document.node(key), &mut path);
                value
            }),
            PendingChildren::Items(items) => items.next().map(|(index, item)| {
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

/// The fields of a mapping: a pair for each key; duplicate keys give the first pair again.
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

struct OpenNode {
    /// The length of the path to the collection.
    base: usize,
    children: PendingChildren,
}

enum PendingChildren {
    Entries(std::vec::IntoIter<(NodeId, NodeId)>),
    Items(std::iter::Enumerate<std::vec::IntoIter<NodeId>>),
}

fn enter<V: Visitor>(
    document: &mut Document,
    visitor: &mut V,
    node: NodeId,
    path: &str,
) -> Result<Option<OpenNode>, V::Error> {
    let children = match document.node(node).kind() {
        Kind::Mapping => {
            let entries = fields(document, node);
            visitor.mapping(document, &entries, path)?;
            PendingChildren::Entries(entries.into_iter())
        }
        Kind::Sequence => PendingChildren::Items(document.child_ids(node).into_iter().enumerate()),
        Kind::Scalar => {
            visitor.scalar(document, node, path)?;
            return Ok(None);
        }
        Kind::Alias => return Ok(None),
    };
    let base = path.len();
    Ok(Some(OpenNode { base, children }))
}
