//! The comments inside of a value that is replaced as a whole, put where the same stands in the new one.

use kiln_yaml::{Document, Kind, NoListKeys, NodeId, Start, copy_comments};

/// Gives the parts of `new` the comments that the equal parts of `old` have. Both are nodes of the document.
pub(super) fn transplant_comments(doc: &mut Document, old: NodeId, new: NodeId) {
    match doc.node(old).kind() {
        Kind::Sequence => {
            let mut free = doc.child_ids(old);
            for item in doc.child_ids(new) {
                let same = |candidate: &NodeId| doc.node(*candidate).value_eq(doc.node(item));
                if let Some(place) = free.iter().position(same) {
                    copy(doc, free.remove(place), item);
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
    // Where kinds differ there is nothing to be copied, and what was copied before is right.
    let _ = copy_comments((&from, top), (doc, Start::Node(new)), &NoListKeys);
}
