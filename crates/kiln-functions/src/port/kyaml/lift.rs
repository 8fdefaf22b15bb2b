//! How the writer of kyaml up to 0.10.21 changes comments.

use kiln_yaml::{Document, NodeId, NodeRef, Slot};

use crate::budget::is_stopped;
use crate::function::FunctionList;

/// Moves a comment above the first field of an item to the item itself, in all lists of all resources. An item with
/// its own comment keeps that one, and the other is lost.
pub(crate) fn lift_comments(list: &mut FunctionList) {
    for (place, resource) in list.items.iter_mut().enumerate() {
        if is_stopped() {
            break;
        }
        let lifted = comments_to_lift(resource.document());
        if lifted.is_empty() {
            // The document must stay marked as unchanged.
            continue;
        }
        let document = resource.document_mut();
        for Lifted {
            first,
            item,
            comment,
        } in lifted
        {
            document.set_comment(first, Slot::Head, "");
            if document.node(item).comment(Slot::Head).is_empty() {
                document.set_comment(item, Slot::Head, &comment);
            }
        }
        list.unsettled.push(place);
    }
}

struct Lifted {
    first: NodeId,
    item: NodeId,
    comment: String,
}

/// In no order: each concerns an item and a scalar of it.
fn comments_to_lift(document: &Document) -> Vec<Lifted> {
    let mut lifted = Vec::new();
    let mut open = vec![document.root()];
    while let Some(node) = open.pop() {
        lifted.extend(node.items().filter_map(liftable));
        open.extend(node.children());
    }
    lifted
}

fn liftable(item: NodeRef<'_>) -> Option<Lifted> {
    let first = item.children().next().filter(|first| first.is_scalar())?;
    let comment = first.comment(Slot::Head);
    (!comment.is_empty()).then(|| Lifted {
        first: first.id(),
        item: item.id(),
        comment: comment.to_owned(),
    })
}
