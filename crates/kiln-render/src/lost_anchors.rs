//! Aliases whose anchor a function removed.
//!
//! A native function that replaces an anchored value edits the tree, where aliases are names that nothing looks up. Without
//! the anchor the file could not be read again. So the first alias becomes what it stood for, with the anchor: the values
//! that the function did not set stay.

use std::collections::{HashMap, HashSet};

use kiln_yaml::{Document, Kind, NodeId, Slot};

/// Gives each alias of an output the anchor that it has in the input.
pub(crate) fn restore_anchors(output: &mut Document, input: &Document) {
    if !input.has_anchors() {
        return;
    }
    let anchored = anchored_nodes(input);
    // Each round defines one more name.
    for _ in 0..anchored.len() {
        let Some((parent, alias, target)) = first_lost(output, &anchored) else {
            return;
        };
        let copy = output.import(input.node(target));
        for slot in Slot::ALL {
            let comment = output.node(alias).comment(slot).to_owned();
            output.set_comment(copy, slot, &comment);
        }
        output.replace_child(parent, alias, copy);
    }
}

/// The last node with each name.
fn anchored_nodes(document: &Document) -> HashMap<&str, NodeId> {
    let mut nodes = HashMap::new();
    let mut pending = vec![document.root()];
    while let Some(node) = pending.pop() {
        if !node.anchor().is_empty() {
            nodes.insert(node.anchor(), node.id());
        }
        let children: Vec<_> = node.children().collect();
        pending.extend(children.into_iter().rev());
    }
    nodes
}

/// The first alias without an anchor before it, with its parent and the node that it stood for.
fn first_lost(
    document: &Document,
    anchored: &HashMap<&str, NodeId>,
) -> Option<(NodeId, NodeId, NodeId)> {
    let mut defined: HashSet<&str> = HashSet::new();
    let root = document.root();
    let mut pending = vec![(root, root)];
    while let Some((parent, node)) = pending.pop() {
        if node.kind() == Kind::Alias {
            let target = anchored.get(node.value());
            if let (false, Some(target)) = (defined.contains(node.value()), target) {
                return Some((parent.id(), node.id(), *target));
            }
            continue;
        }
        if !node.anchor().is_empty() {
            defined.insert(node.anchor());
        }
        let children: Vec<_> = node.children().collect();
        pending.extend(children.into_iter().rev().map(|child| (node, child)));
    }
    None
}
