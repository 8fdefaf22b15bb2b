//! The targets of aliases in a document, computed at the first alias.

use std::collections::HashMap;

use kiln_yaml::{Document, NodeId};

/// The targets of one document's aliases. Valid as long as no aliases are added to the document.
#[derive(Default)]
pub(super) struct Aliases {
    targets: Option<HashMap<NodeId, NodeId>>,
}

impl Aliases {
    pub(super) fn target(&mut self, document: &Document, alias: NodeId) -> Option<NodeId> {
        let targets = self.targets.get_or_insert_with(|| document.alias_targets());
        targets.get(&alias).copied()
    }
}
