//! What aliases stand for.

use std::collections::HashMap;

use crate::{Document, Kind, NodeId};

impl Document {
    /// Whether a node has an anchor, or had one before it was replaced.
    pub fn has_anchors(&self) -> bool {
        let mut extras = self.extras.iter();
        extras.any(|extra| !self.text(extra.anchor).is_empty())
    }

    /// For each alias the last node before it that has its name as an anchor.
    pub fn alias_targets(&self) -> HashMap<NodeId, NodeId> {
        let mut named: HashMap<&str, NodeId> = HashMap::new();
        let mut targets = HashMap::new();
        let mut pending = vec![Some(self.root())];
        while let Some(next) = pending.pop() {
            let Some(node) = next else { continue };
            if node.kind() == Kind::Alias {
                if let Some(target) = named.get(node.value()) {
                    targets.insert(node.id(), *target);
                }
            } else if !node.anchor().is_empty() {
                named.insert(node.anchor(), node.id());
            }
            if node.id() != self.root {
                pending.push(node.next_sibling());
            }
            pending.push(node.first_child());
        }
        targets
    }
}
