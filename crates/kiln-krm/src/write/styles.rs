//! Restoring the styles of a function's input in its output.
//!
//! Many functions use a YAML library with its own rules for quotes. A node with an unchanged value is written as before,
//! so that only what changed shows in a diff.

use std::collections::HashMap;

use kiln_yaml::{Document, NodeId, NodeRef, pair_items};

/// Gives each node the style of the node of `old` at the same path, if both have the same value.
pub(super) fn adopt_styles(old: &Document, new: &mut Document) {
    let mut pending = vec![(old.root(), new.root().id())];
    while let Some((old, id)) = pending.pop() {
        let node = new.node(id);
        if old.kind() != node.kind() || old.tag() != node.tag() {
            continue;
        }
        if node.is_scalar() && old.value() != node.value() {
            continue;
        }
        if node.is_mapping() {
            pending.extend(common_entries(old, node));
        } else if node.is_sequence() {
            pending.extend(pair_items(old, node));
        }
        // What is empty is in braces or brackets because nothing else can be.
        let has_style = old.is_scalar() || !old.is_empty();
        if has_style && old.style() != node.style() {
            new.set_style(id, old.style());
        }
    }
}

/// Keys and values of fields that two mappings have; of a field that is there twice, the first.
fn common_entries<'a>(old: NodeRef<'a>, new: NodeRef<'_>) -> Vec<(NodeRef<'a>, NodeId)> {
    let mut fields = HashMap::new();
    for (key, value) in old.entries() {
        fields.entry(key.value()).or_insert((key, value));
    }
    let mut pairs = Vec::new();
    for (key, value) in new.entries() {
        if let Some((old_key, old_value)) = fields.remove(key.value()) {
            pairs.push((old_key, key.id()));
            pairs.push((old_value, value.id()));
        }
    }
    pairs
}
