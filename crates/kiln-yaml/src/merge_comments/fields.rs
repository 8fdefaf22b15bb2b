//! The fields of two mappings side by side, and the look of a mapping that cannot be walked.

use std::collections::HashSet;

use crate::document::Document;
use crate::edit::node_text;
use crate::node::{Kind, NodeId, Style};
use crate::noderef::NodeRef;
use crate::resolve::is_yaml_1_1_non_string;

/// A key and its value.
pub(super) type FieldEntry<'a> = (NodeRef<'a>, NodeRef<'a>);

/// The fields that either mapping has, sorted by name, each with its first pair on both sides.
pub(super) fn union<'a>(
    from: NodeRef<'a>,
    to: Option<NodeRef<'a>>,
) -> Vec<(&'a str, Option<FieldEntry<'a>>, Option<FieldEntry<'a>>)> {
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

fn sorted(node: Option<NodeRef<'_>>) -> Vec<(&str, FieldEntry<'_>)> {
    let mut fields: Vec<_> = node
        .into_iter()
        .flat_map(NodeRef::entries)
        .map(|entry| (entry.0.value(), entry))
        .collect();
    fields.sort_by_key(|(name, _)| *name);
    fields.dedup_by_key(|(name, _)| *name);
    fields
}

/// The text of a mapping with a nameless key, as it is when kyaml stumbles over it: the value of that key was walked.
pub(super) fn nameless_text(mapping: NodeRef<'_>) -> String {
    let mut doc = Document::from_node(mapping);
    let value = doc.root().field("").map(|(_, value)| value.id());
    wear(&mut doc, value.into_iter().collect());
    node_text(doc.root())
}

/// The text of a node of the original after kyaml has walked it.
pub(super) fn walked_text(node: NodeRef<'_>) -> String {
    let mut doc = Document::from_node(node);
    let root = doc.root().id();
    wear(&mut doc, vec![root]);
    node_text(doc.root())
}

/// Does to nodes what walking does to kyaml's copy of the original: nulls and aliases go from mappings, and strings
/// that YAML 1.1 reads otherwise get quotes. Only errors show it.
fn wear(doc: &mut Document, mut pending: Vec<NodeId>) {
    while let Some(id) = pending.pop() {
        let node = doc.node(id);
        if !node.is_mapping() {
            if node.is_string_to_kyaml()
                && node.style() == Style::NONE
                && is_yaml_1_1_non_string(node.value())
            {
                doc.set_style(id, Style::DOUBLE_QUOTED);
            }
            continue;
        }
        let firsts: HashSet<NodeId> = sorted(Some(node))
            .iter()
            .map(|(_, (key, _))| key.id())
            .collect();
        let mut kept = Vec::new();
        for (key, value) in node.entries() {
            let first = firsts.contains(&key.id());
            if first && (value.is_tagged_null() || value.kind() == Kind::Alias) {
                continue;
            }
            kept.extend([key.id(), value.id()]);
            if first {
                pending.push(value.id());
            }
        }
        doc.set_children(id, &kept);
    }
}
