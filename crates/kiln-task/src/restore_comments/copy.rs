//! Copies comments to the same nodes of another document: fields by name, items by key or by value.
//!
//! Unlike the original, items are never matched by their position: if an item was inserted, the comments of the others stay with
//! them. Nothing recurses.

use kiln_krm::schema::Schema;
use kiln_yaml::{Document, ListKeys, NodeId, NodeRef, Slot, TypeId};

pub(super) fn has_comments(doc: &Document) -> bool {
    let mut pending = vec![doc.root()];
    while let Some(node) = pending.pop() {
        if Slot::ALL
            .into_iter()
            .any(|slot| !node.comment(slot).is_empty())
        {
            return true;
        }
        pending.extend(node.children());
    }
    Slot::ALL
        .into_iter()
        .any(|slot| !doc.comment(slot).is_empty())
}

pub(super) fn copy_comments(from: &Document, to: &mut Document) {
    for slot in Slot::ALL {
        if to.comment(slot).is_empty() && !from.comment(slot).is_empty() {
            to.set_document_comment(slot, from.comment(slot));
        }
    }
    let schema = Schema::builtin();
    let root = from.root();
    let text = |key| root.get(key).and_then(NodeRef::as_text).unwrap_or_default();
    let of = schema.resource(text("apiVersion"), text("kind"));
    let mut pending = vec![(root.id(), to.root().id(), of)];
    while let Some((old, new, of)) = pending.pop() {
        let (old, is_same_kind) = (from.node(old), from.node(old).kind() == to.node(new).kind());
        if !is_same_kind {
            continue;
        }
        copy_one(old, to, new);
        let mut pairs = Vec::new();
        if old.is_mapping() {
            let fields: Vec<_> = to
                .node(new)
                .entries()
                .map(|(k, v)| (k.id(), v.id()))
                .collect();
            for (key, value) in fields {
                let name = to.node(key).value().to_owned();
                if let Some((old_key, old_value)) = old.entry(&name) {
                    if old_value.kind() == to.node(value).kind() {
                        copy_one(old_key, to, key);
                    }
                    let of = of.and_then(|of| schema.field(of, &name));
                    pairs.push((old_value.id(), value, of));
                }
            }
        } else if old.is_sequence() {
            pairs = items(schema, old, to.node(new), of);
        }
        pending.extend(pairs);
    }
}

fn copy_one(old: NodeRef<'_>, to: &mut Document, new: NodeId) {
    for slot in Slot::ALL {
        if !old.comment(slot).is_empty() && to.node(new).comment(slot).is_empty() {
            to.set_comment(new, slot, old.comment(slot));
        }
    }
}

/// Pairs the items that both lists have.
fn items(
    schema: &Schema,
    old: NodeRef<'_>,
    new: NodeRef<'_>,
    of: Option<TypeId>,
) -> Vec<(NodeId, NodeId, Option<TypeId>)> {
    let item_type = of.and_then(|of| schema.item(of));
    let keys = of.and_then(|of| schema.keys(of)).unwrap_or(&["name"]);
    let mut free: Vec<NodeRef<'_>> = old.items().collect();
    let mut pairs = Vec::new();
    for item in new.items() {
        let has_same_keys = |candidate: &NodeRef<'_>| {
            let value = |node: NodeRef<'_>, key: &str| {
                node.get(key).and_then(NodeRef::as_text).map(str::to_owned)
            };
            let first = keys.first().and_then(|key| value(item, key));
            let is_same = |key: &&str| value(*candidate, key) == value(item, key);
            first.is_some() && keys.iter().all(is_same)
        };
        let same = free.iter().position(|candidate| candidate.value_eq(item));
        let same = same.or_else(|| free.iter().position(has_same_keys));
        if let Some(index) = same {
            pairs.push((free.remove(index).id(), item.id(), item_type));
        }
    }
    pairs
}
