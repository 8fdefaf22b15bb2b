//! Moves the comments above items of lists, as kyaml wrote them before v0.11: a comment above the first field of an
//! item goes above the item.

use kiln_yaml::{Document, NodeId, Slot};

use crate::function::ListHeads;

pub(super) fn rearrange(document: &mut Document, heads: ListHeads) {
    let mut pending = vec![document.root().id()];
    while let Some(id) = pending.pop() {
        let node = document.node(id);
        if node.is_mapping() {
            pending.extend(node.children().map(|child| child.id()));
        }
        let items: Vec<NodeId> = node.items().map(|item| item.id()).collect();
        for item in items {
            lift(document, item, heads);
            if heads == ListHeads::ItemOrFirstField {
                pending.push(item);
            }
        }
    }
}

fn lift(document: &mut Document, item: NodeId, heads: ListHeads) {
    let node = document.node(item);
    let first = node.children().next();
    let Some(first) = first.filter(|first| first.is_scalar()) else {
        return;
    };
    let (own, of_first) = (node.comment(Slot::Head), first.comment(Slot::Head));
    if own.is_empty() && of_first.is_empty() {
        return;
    }
    let keeps_own = heads == ListHeads::ItemOrFirstField && !own.is_empty();
    let (first, comment) = (first.id(), of_first.to_owned());
    if !keeps_own {
        document.set_comment(item, Slot::Head, &comment);
    }
    document.set_comment(first, Slot::Head, "");
}
