//! The changes of a tree that edits of a Kptfile use.
//!
//! A changed node is never shared: its aliases are replaced by copies first. A node that is equal to its new value stays
//! as it is, with its comments.

use kiln_yaml::{Document, Kind, NodeId, Slot, Style};

use crate::record::{Value, read_node};

/// The mapping or sequence at a path of keys, created if missing, for changing.
pub(super) fn collection_at(doc: &mut Document, path: &[&str], kind: Kind) -> NodeId {
    let mut at = doc.root().id();
    let mut changed = vec![at];
    for (depth, key) in path.iter().enumerate() {
        let is_last = depth + 1 == path.len();
        at = collection(doc, at, key, if is_last { kind } else { Kind::Mapping });
        changed.push(at);
    }
    unshare(doc, &changed);
    at
}

/// Sets the value of a key; `None` removes the key.
pub(super) fn put_entry(doc: &mut Document, mapping: NodeId, key: &str, value: Option<NodeId>) {
    let entry = doc.node(mapping).entry(key);
    let entry = entry.map(|(key, value)| (key.id(), value.id()));
    match (entry, value) {
        (Some((_, old)), Some(new)) => {
            doc.replace_child(mapping, old, new);
        }
        (None, Some(new)) => {
            let key = doc.new_string(key);
            doc.push_entry(mapping, key, new);
        }
        (Some((key, old)), None) => {
            let mut children = doc.child_ids(mapping);
            children.retain(|child| *child != key && *child != old);
            doc.set_children(mapping, &children);
        }
        (None, None) => {}
    }
}

/// Puts an item into a list: in place of the first that `is_same`, or last. Further such items are removed.
pub(super) fn put_item<R: Value>(
    doc: &mut Document,
    list: NodeId,
    record: &R,
    is_same: impl Fn(&R) -> bool,
) {
    let new = record.write(doc);
    let mut is_placed = false;
    let mut items = Vec::new();
    for item in doc.child_ids(list) {
        if !is_item(doc, item, &is_same) {
            items.push(item);
        } else if !is_placed {
            is_placed = true;
            items.push(item_like(doc, item, new));
        }
    }
    if !is_placed {
        items.push(new);
    }
    doc.set_children(list, &items);
}

/// Puts an item last into a list, merged with the first that `is_same`. Further such items are removed.
pub(super) fn put_last_item<R: Value>(
    doc: &mut Document,
    list: NodeId,
    record: &R,
    is_same: impl Fn(&R) -> bool,
) {
    let new = record.write(doc);
    let (same, mut items): (Vec<NodeId>, Vec<NodeId>) = doc
        .child_ids(list)
        .into_iter()
        .partition(|item| is_item(doc, *item, &is_same));
    items.push(match same.first() {
        Some(present) => item_like(doc, *present, new),
        None => new,
    });
    doc.set_children(list, &items);
}

fn is_item<R: Value>(doc: &Document, item: NodeId, is_same: impl Fn(&R) -> bool) -> bool {
    read_node::<R>(doc, item).is_some_and(|present| is_same(&present))
}

/// The old item with the values of `new` and its own comments; `new` itself if that is not possible.
fn item_like(doc: &mut Document, item: NodeId, new: NodeId) -> NodeId {
    if !doc.node(item).is_mapping() {
        return new;
    }
    unshare(doc, &[item]);
    become_like(doc, item, new);
    item
}

/// Moves foot comments of the last nested field to the field of the document: a comment at the end of a block is about the
/// block, not about its last field, which may be removed.
pub(super) fn lift_last_comments(doc: &mut Document, key: &str) {
    let Some((key, value)) = doc.root().entry(key) else {
        return;
    };
    let (key, mut inside) = (key.id(), Some(value.id()));
    let mut lifted = vec![doc.node(key).comment(Slot::Foot).to_owned()];
    let mut has_lifted = false;
    while let Some(node) = inside {
        let children = doc.child_ids(node);
        inside = children.last().copied();
        // The key of a pair has the comments.
        for child in children.iter().rev().take(2) {
            let comment = doc.node(*child).comment(Slot::Foot).to_owned();
            if !comment.is_empty() {
                doc.set_comment(*child, Slot::Foot, "");
                lifted.insert(0, comment);
                has_lifted = true;
            }
        }
    }
    if has_lifted {
        lifted.retain(|comment| !comment.is_empty());
        doc.set_comment(key, Slot::Foot, &lifted.join("\n"));
    }
}

/// The value of a key, created if it is missing or of another kind.
fn collection(doc: &mut Document, mapping: NodeId, key: &str, kind: Kind) -> NodeId {
    let entry = doc.node(mapping).entry(key);
    if let Some((key_node, old)) = entry.map(|(key, value)| (key.id(), value.id())) {
        let node = doc.node(old);
        if node.kind() == kind {
            if node.is_empty() && node.style().contains(Style::FLOW) {
                make_block(doc, key_node, old);
            }
            return old;
        }
        if node.kind() == Kind::Alias
            && let Some(copy) = copy_of_target(doc, old)
        {
            doc.replace_child(mapping, old, copy);
            return copy;
        }
    }
    let new = match kind {
        Kind::Sequence => doc.new_sequence_node(),
        _ => doc.new_mapping_node(),
    };
    put_entry(doc, mapping, key, Some(new));
    new
}

/// Turns an empty collection written as `{}` or `[]` into a block.
fn make_block(doc: &mut Document, key: NodeId, value: NodeId) {
    let style = doc.node(value).style().without(Style::FLOW);
    doc.set_style(value, style);
    // A block's first line ends with its key.
    let comment = doc.node(value).comment(Slot::Line).to_owned();
    if !comment.is_empty() && doc.node(key).comment(Slot::Line).is_empty() {
        doc.set_comment(key, Slot::Line, &comment);
        doc.set_comment(value, Slot::Line, "");
    }
}

/// Replaces all aliases of nodes that are about to change by copies.
fn unshare(doc: &mut Document, changed: &[NodeId]) {
    let mut aliases = doc.alias_targets();
    aliases.retain(|_, target| changed.contains(target));
    if aliases.is_empty() {
        return;
    }
    let mut places = Vec::new();
    let mut pending = vec![doc.root()];
    while let Some(node) = pending.pop() {
        for child in node.children() {
            if aliases.contains_key(&child.id()) {
                places.push((node.id(), child.id()));
            }
            pending.push(child);
        }
    }
    for (parent, alias) in places {
        if let Some(copy) = copy_of_target(doc, alias) {
            doc.replace_child(parent, alias, copy);
        }
    }
}

fn copy_of_target(doc: &mut Document, alias: NodeId) -> Option<NodeId> {
    let target = doc.alias_targets().get(&alias).copied()?;
    let copy = Document::from_node(doc.node(target));
    let copy = doc.import(copy.root());
    doc.set_anchor(copy, "");
    Some(copy)
}

/// Sets the fields of a mapping to those of another, keeping equal ones with their comments.
fn become_like(doc: &mut Document, mapping: NodeId, wanted: NodeId) {
    let mut wanted = entry_ids(doc, wanted);
    let mut children = Vec::new();
    for (key, value) in entry_ids(doc, mapping) {
        let is_same_key =
            |(other, _): &(NodeId, NodeId)| doc.node(*other).value() == doc.node(key).value();
        let Some(place) = wanted.iter().position(is_same_key) else {
            continue;
        };
        let (_, new) = wanted.remove(place);
        let value = if means_same(doc, value, new) {
            value
        } else {
            for slot in Slot::ALL {
                let comment = doc.node(value).comment(slot).to_owned();
                doc.set_comment(new, slot, &comment);
            }
            new
        };
        children.extend([key, value]);
    }
    children.extend(wanted.into_iter().flat_map(|(key, value)| [key, value]));
    doc.set_children(mapping, &children);
}

/// Whether two values decode to the same; scalars are compared by text, not by style.
fn means_same(doc: &Document, one: NodeId, other: NodeId) -> bool {
    let (one, other) = (doc.node(one), doc.node(other));
    if one.is_scalar() && other.is_scalar() {
        return one.as_text() == other.as_text();
    }
    one.value_eq(other)
}

fn entry_ids(doc: &Document, mapping: NodeId) -> Vec<(NodeId, NodeId)> {
    let entries = doc.node(mapping).entries();
    entries.map(|(key, value)| (key.id(), value.id())).collect()
}
