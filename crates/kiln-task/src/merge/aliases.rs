//! Replaces aliases with their values, because a merge may remove the anchor.

use std::collections::HashMap;

use kiln_yaml::{Document, Kind, NodeId};

/// The largest number of nodes after the replacement.
const MAX_NODES: usize = 200_000;

/// Replaces all aliases. Returns false if the result would be too large, or an alias contains itself.
pub(super) fn resolve_aliases(doc: &mut Document) -> bool {
    let mut anchors: HashMap<String, NodeId> = HashMap::new();
    let mut added = 0;
    let mut pending = vec![(None, doc.root().id())];
    let mut anchored = Vec::new();
    while let Some((parent, id)) = pending.pop() {
        let node = doc.node(id);
        if node.kind() == Kind::Alias {
            let target = anchors.get(node.value()).copied();
            let (Some(target), Some(parent)) = (target, parent) else {
                return false;
            };
            let mut copy = Document::from_node(doc.node(target));
            forget_anchors(&mut copy);
            added += count(&copy);
            if added > MAX_NODES || has_alias(&copy) {
                return false;
            }
            let copy = doc.import(copy.root());
            doc.replace_child(parent, id, copy);
            continue;
        }
        if !node.anchor().is_empty() {
            anchors.insert(node.anchor().to_owned(), id);
            anchored.push(id);
        }
        for child in doc.child_ids(id).into_iter().rev() {
            pending.push((Some(id), child));
        }
    }
    for id in anchored {
        doc.set_anchor(id, "");
    }
    true
}

pub(super) fn has_alias(doc: &Document) -> bool {
    let mut pending = vec![doc.root()];
    while let Some(node) = pending.pop() {
        if node.kind() == Kind::Alias {
            return true;
        }
        pending.extend(node.children());
    }
    false
}

fn forget_anchors(doc: &mut Document) {
    let mut pending = vec![doc.root().id()];
    while let Some(id) = pending.pop() {
        if !doc.node(id).anchor().is_empty() {
            doc.set_anchor(id, "");
        }
        pending.extend(doc.child_ids(id));
    }
}

fn count(doc: &Document) -> usize {
    let mut pending = vec![doc.root()];
    let mut count = 0;
    while let Some(node) = pending.pop() {
        count += 1;
        pending.extend(node.children());
    }
    count
}
