//! The fields of two mappings side by side, and the look of a mapping that cannot be walked.

use crate::document::Document;
use crate::edit::node_text;
use crate::node::{Kind, NodeId};
use crate::noderef::NodeRef;

/// A key and its value.
pub(super) type Entry<'a> = (NodeRef<'a>, NodeRef<'a>);

/// The fields that either mapping has, sorted by name, each with its first pair on both sides.
pub(super) fn union<'a>(
    from: NodeRef<'a>,
    to: Option<NodeRef<'a>>,
) -> Vec<(&'a str, Option<Entry<'a>>, Option<Entry<'a>>)> {
    let left = sorted(Some(from));
    let right = sorted(to);
    let mut out = Vec::with_capacity(left.len().max(right.len()));
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    loop {
        let name = match (left.peek(), right.peek()) {
            (Some((l, _)), Some((r, _))) => *l.min(r),
            (Some((name, _)), None) | (None, Some((name, _))) => *name,
            (None, None) => return out,
        };
        let l = left.next_if(|(n, _)| *n == name).map(|(_, entry)| entry);
        let r = right.next_if(|(n, _)| *n == name).map(|(_, entry)| entry);
        out.push((name, l, r));
    }
}

fn sorted(node: Option<NodeRef<'_>>) -> Vec<(&str, Entry<'_>)> {
    let mut fields: Vec<_> = node
        .into_iter()
        .flat_map(NodeRef::entries)
        .map(|entry| (entry.0.value(), entry))
        .collect();
    fields.sort_by_key(|(name, _)| *name);
    fields.dedup_by_key(|(name, _)| *name);
    fields
}

/// The text of a mapping with a nameless key, as it is when kyaml stumbles over it.
///
/// By then nulls and aliases are gone from the value of that key, at any depth below mappings.
pub(super) fn nameless_text(mapping: NodeRef<'_>) -> String {
    let mut doc = Document::from_node(mapping);
    let mut pending: Vec<NodeId> = doc
        .root()
        .field("")
        .map(|(_, value)| value.id())
        .into_iter()
        .collect();
    while let Some(id) = pending.pop() {
        let node = doc.node(id);
        if !node.is_mapping() {
            continue;
        }
        let firsts = sorted(Some(node));
        let is_first = |key: NodeRef<'_>| {
            firsts
                .binary_search_by_key(&key.value(), |(name, _)| *name)
                .is_ok_and(|at| firsts.get(at).is_some_and(|(_, (k, _))| k.id() == key.id()))
        };
        let mut kept = Vec::new();
        for (key, value) in node.entries() {
            let gone = value.is_tagged_null() || value.kind() == Kind::Alias;
            if !(gone && is_first(key)) {
                kept.extend([key.id(), value.id()]);
                pending.push(value.id());
            }
        }
        doc.set_children(id, &kept);
    }
    node_text(doc.root())
}
