//! Copies comments inside a replaced value to the equal parts of the new value.

use kiln_yaml::{Document, Kind, NoListKeys, NodeId, Start, copy_comments};

/// Copies the comments in `old` to the equal parts of `new`. Both are nodes of the document.
pub(super) fn transplant_comments(doc: &mut Document, old: NodeId, new: NodeId) {
    match doc.node(old).kind() {
        Kind::Sequence => {
            let mut free = doc.child_ids(old);
            for item in doc.child_ids(new) {
                let same = |candidate: &NodeId| doc.node(*candidate).value_eq(doc.node(item));
                if let Some(index) = free.iter().position(same) {
                    copy(doc, free.remove(index), item);
                }
            }
        }
        Kind::Mapping => copy(doc, old, new),
        Kind::Scalar | Kind::Alias => {}
    }
}

fn copy(doc: &mut Document, old: NodeId, new: NodeId) {
    let from = Document::from_node(doc.node(old));
    let top = Start::Node(from.root().id());
    // Nodes of different kinds have no comments to copy; earlier copies are right.
    let _ = copy_comments((&from, top), (doc, Start::Node(new)), &NoListKeys);
}
