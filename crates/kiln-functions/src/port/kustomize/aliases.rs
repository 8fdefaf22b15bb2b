//! The targets of aliases in a document, computed at the first alias.

use std::collections::HashMap;

use kiln_yaml::{Document, Kind, NodeId};

/// The targets of one document's aliases. Valid as long as no aliases are added to the document.
#[derive(Default)]
pub(super) struct Aliases {
    targets: Option<HashMap<NodeId, NodeId>>,
}

impl Aliases {
    pub(super) fn target(&mut self, document: &Document, alias: NodeId) -> Option<NodeId> {
        let targets = self.targets.get_or_insert_with(|| targets(document));
        targets.get(&alias).copied()
    }
}

/// For each alias the last node before it with an anchor of its name.
fn targets(document: &Document) -> HashMap<NodeId, NodeId> {
    let mut named: HashMap<&str, NodeId> = HashMap::new();
    let mut targets = HashMap::new();
    let mut pending = vec![document.root()];
    while let Some(node) = pending.pop() {
        if node.kind() == Kind::Alias {
            if let Some(target) = named.get(node.value()) {
                targets.insert(node.id(), *target);
            }
        } else if !node.anchor().is_empty() {
            named.insert(node.anchor(), node.id());
        }
        let from = pending.len();
        pending.extend(node.children());
        if let Some(children) = pending.get_mut(from..) {
            children.reverse();
        }
    }
    targets
}
