//! Keys that come several times in a mapping.
//!
//! To kyaml a later field of a name is the first one once more, so that both are written with the value of the first.
//! Here it becomes a copy. Repeats inside of repeats multiply, so the number of copied nodes is limited.

use std::collections::HashMap;

use crate::document::Document;
use crate::node::{NodeContent, NodeId};

/// The fields to be written again.
#[derive(Default)]
pub(super) struct Repeats {
    /// For each mapping, where in it which pair comes again; outer mappings before inner ones.
    mappings: Vec<(NodeId, Vec<Repeat>)>,
}

/// Where among the pairs of a mapping the first pair of a name comes again.
pub(super) struct Repeat {
    pub(super) place: usize,
    pub(super) key: NodeId,
    pub(super) value: NodeId,
}

impl Repeats {
    pub(super) fn push(&mut self, mapping: NodeId, repeats: Vec<Repeat>) {
        if !repeats.is_empty() {
            self.mappings.push((mapping, repeats));
        }
    }

    /// The values that occur more than once.
    pub(super) fn values(&self) -> HashMap<NodeId, usize> {
        let mut counts = HashMap::new();
        for repeat in self.mappings.iter().flat_map(|(_, repeats)| repeats) {
            *counts.entry(repeat.value).or_insert(1) += 1;
        }
        counts
    }

    /// Inserts copies of the fields; false if they would be too many.
    pub(super) fn insert(self, doc: &mut Document) -> bool {
        let mut left = doc.nodes.len().saturating_mul(4).saturating_add(100_000);
        // Inner mappings must be complete before outer ones are copied.
        for (mapping, repeats) in self.mappings.into_iter().rev() {
            let mut singles = doc.child_ids(mapping).into_iter();
            let mut repeats = repeats.into_iter().peekable();
            let mut children = Vec::new();
            for place in 0.. {
                let pair = if let Some(again) = repeats.next_if(|repeat| repeat.place == place) {
                    let key = duplicate(doc, again.key, &mut left);
                    let value = duplicate(doc, again.value, &mut left);
                    let (Some(key), Some(value)) = (key, value) else {
                        return false;
                    };
                    [key, value]
                } else if let (Some(key), Some(value)) = (singles.next(), singles.next()) {
                    [key, value]
                } else {
                    break;
                };
                children.extend(pair);
            }
            doc.set_children(mapping, &children);
        }
        true
    }
}

/// A deep copy of a node within its document, if no more nodes than are `left` are needed for it.
fn duplicate(doc: &mut Document, node: NodeId, left: &mut usize) -> Option<NodeId> {
    let mut copy_one = |doc: &mut Document, node: NodeId| {
        *left = left.checked_sub(1)?;
        let mut data = *doc.node_data(node);
        data.next = NodeId::NIL;
        match &mut data.content {
            NodeContent::Mapping { first, last } | NodeContent::Sequence { first, last } => {
                (*first, *last) = (NodeId::NIL, NodeId::NIL);
            }
            NodeContent::Scalar(_) | NodeContent::Alias(_) => {}
        }
        if let Some(extra) = doc.extras.get(data.extra as usize).copied() {
            data.extra = doc.extras.len() as u32;
            doc.extras.push(extra);
        }
        Some(doc.add(data))
    };
    let top = copy_one(doc, node)?;
    let mut pending = vec![(node, top)];
    while let Some((from, to)) = pending.pop() {
        for child in doc.child_ids(from) {
            let copy = copy_one(doc, child)?;
            doc.append_child(to, copy);
            pending.push((child, copy));
        }
    }
    Some(top)
}
