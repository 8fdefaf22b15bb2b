//! Giving the fields of a changed tree the order they had in the original.
//!
//! Functions written with other libraries return mappings sorted or shuffled; this brings back the order a person
//! wrote. At every level the fields of the original come first, new ones after them; lists are walked by index.
//! The rules, the error and the loss of the document's own comments are those of kyaml's `SyncOrder`.

mod repeats;

use std::collections::HashMap;
use std::fmt;

use self::repeats::{Repeat, Repeats};
use crate::document::{Document, Slot};
use crate::edit::EditError;
use crate::list_pairs::pair_items;
use crate::merge_comments::Start;
use crate::node::{Kind, NodeId};
use crate::noderef::NodeRef;

/// Why the order could not be restored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SyncOrderError {
    /// A list of the original is something else in the changed tree.
    NotAList(EditError),
    /// Repeated keys stand inside of repeated keys, so that the document would grow beyond measure.
    TooManyRepeats,
}

impl fmt::Display for SyncOrderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            SyncOrderError::NotAList(error) => kiln_go::quote(&error.to_string()),
            SyncOrderError::TooManyRepeats => "too many repeated keys".to_owned(),
        };
        write!(f, "failed to sync field order: {text}")
    }
}

impl std::error::Error for SyncOrderError {}

/// Orders the fields below `to` as they are ordered below `from`.
///
/// With [`Start::Document`] the document's own comments are lost, as in kyaml, if there is anything to order.
/// After an error `to` is partly ordered.
pub fn sync_order(
    from: NodeRef<'_>,
    to: &mut Document,
    start: Start,
) -> Result<(), SyncOrderError> {
    sync(from, to, start, Mismatch::Fail)
}

/// The same, but items of lists are those that [`pair_items`] finds, a list that is something else now is passed over, and
/// comments stay where they are.
pub fn sync_matching_order(
    from: NodeRef<'_>,
    to: &mut Document,
    start: Start,
) -> Result<(), SyncOrderError> {
    sync(from, to, start, Mismatch::PassOver)
}

/// What happens where a list is something else in the changed tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mismatch {
    Fail,
    PassOver,
}

fn sync(
    from: NodeRef<'_>,
    to: &mut Document,
    start: Start,
    mismatch: Mismatch,
) -> Result<(), SyncOrderError> {
    let top = start.node(to);
    if mismatch == Mismatch::Fail
        && start == Start::Document
        && from.is_mapping()
        && to.node(top).is_mapping()
        && !from.is_empty()
        && !to.node(top).is_empty()
    {
        for slot in [Slot::Head, Slot::Foot] {
            if !to.comment(slot).is_empty() {
                to.set_document_comment(slot, "");
            }
        }
    }
    let mut repeats = Repeats::default();
    let mut pending = vec![(from, top)];
    while let Some((from, to_id)) = pending.pop() {
        let node = to.node(to_id);
        if is_nothing(from) || is_nothing(node) {
            continue;
        }
        let first = pending.len();
        match from.kind() {
            Kind::Mapping if node.is_mapping() => {
                let mut order = FieldOrder::new(from, node);
                pending.extend(order.pairs.iter().copied());
                if mismatch == Mismatch::PassOver && !order.repeats.is_empty() {
                    // kyaml writes the first of them twice and loses the other.
                    order.repeats.clear();
                    order.changed = None;
                }
                if let Some(children) = order.changed {
                    to.set_children(to_id, &children);
                }
                repeats.push(to_id, order.repeats);
            }
            Kind::Sequence if node.is_sequence() && mismatch == Mismatch::PassOver => {
                pending.extend(pair_items(from, node));
            }
            Kind::Sequence if node.is_sequence() => {
                pending.extend(from.items().zip(node.items().map(NodeRef::id)));
            }
            Kind::Sequence if mismatch == Mismatch::Fail => {
                let error = EditError::wrong_kind(Kind::Sequence, node);
                return Err(SyncOrderError::NotAList(error));
            }
            Kind::Mapping | Kind::Sequence | Kind::Scalar | Kind::Alias => {}
        }
        // Depth first and in order, so that the first mismatch is the one reported.
        if let Some(added) = pending.get_mut(first..) {
            added.reverse();
        }
    }
    if mismatch == Mismatch::Fail {
        lift_first_heads(to, top, &repeats.values());
    }
    if repeats.insert(to) {
        Ok(())
    } else {
        Err(SyncOrderError::TooManyRepeats)
    }
}

fn is_nothing(node: NodeRef<'_>) -> bool {
    node.is_tagged_null() || ((node.is_mapping() || node.is_sequence()) && node.is_empty())
}

/// The new order of one mapping of the changed tree.
struct FieldOrder<'f> {
    /// Values of fields that both have, in the order of the original.
    pairs: Vec<(NodeRef<'f>, NodeId)>,
    /// The children in their new order, if it is not the one they have.
    changed: Option<Vec<NodeId>>,
    /// Where the first field of a name comes again.
    repeats: Vec<Repeat>,
}

/// In mappings of at most as many fields, names are compared one by one: most are, and no map is made for them.
const FEW_FIELDS: usize = 12;

impl<'f> FieldOrder<'f> {
    fn new(from: NodeRef<'f>, to: NodeRef<'_>) -> FieldOrder<'f> {
        FieldOrder::as_it_is(from, to).unwrap_or_else(|| FieldOrder::by_name(from, to))
    }

    /// The order of a small mapping that has all fields of the original in its order, and new ones only after them.
    fn as_it_is(from: NodeRef<'f>, to: NodeRef<'_>) -> Option<FieldOrder<'f>> {
        let mut names = [""; FEW_FIELDS];
        let mut pairs = Vec::with_capacity(FEW_FIELDS);
        let mut from = from.entries();
        for (place, (key, value)) in to.entries().enumerate() {
            let name = key.value();
            if names.get(..place)?.contains(&name) {
                return None;
            }
            *names.get_mut(place)? = name;
            if let Some((from_key, from_value)) = from.next() {
                if from_key.value() != name {
                    return None;
                }
                pairs.push((from_value, value.id()));
            }
        }
        from.next().is_none().then_some(FieldOrder {
            pairs,
            changed: None,
            repeats: Vec::new(),
        })
    }

    fn by_name(from: NodeRef<'f>, to: NodeRef<'_>) -> FieldOrder<'f> {
        struct OrderedField {
            key: NodeId,
            value: NodeId,
            /// How often the name stands in the changed mapping and was not placed in the order of the original.
            left: usize,
            /// How often it was.
            placed: usize,
        }
        let mut fields: HashMap<&str, OrderedField> = HashMap::new();
        for (key, value) in to.entries() {
            let field = fields.entry(key.value()).or_insert(OrderedField {
                key: key.id(),
                value: value.id(),
                left: 0,
                placed: 0,
            });
            field.left += 1;
        }
        let mut pairs = Vec::new();
        let mut order = Vec::new();
        for (key, value) in from.entries() {
            if let Some(field) = fields.get_mut(key.value())
                && field.left > 0
            {
                if field.placed == 0 {
                    pairs.push((value, field.value));
                }
                order.push((field.key, field.value, field.placed > 0));
                field.left -= 1;
                field.placed += 1;
            }
        }
        // What remains keeps its order; of a repeated name the first ones are those placed already.
        let mut seen: HashMap<&str, usize> = HashMap::new();
        for (key, _) in to.entries() {
            if let Some(field) = fields.get(key.value()) {
                let count = seen.entry(key.value()).or_default();
                if *count >= field.placed {
                    order.push((field.key, field.value, *count > 0));
                }
                *count += 1;
            }
        }
        FieldOrder::from_order(pairs, &order, to)
    }

    fn from_order(
        pairs: Vec<(NodeRef<'f>, NodeId)>,
        order: &[(NodeId, NodeId, bool)],
        to: NodeRef<'_>,
    ) -> FieldOrder<'f> {
        let mut children = Vec::with_capacity(order.len() * 2);
        let mut repeats = Vec::new();
        for (place, &(key, value, repeat)) in order.iter().enumerate() {
            if repeat {
                repeats.push(Repeat { place, key, value });
            } else {
                children.extend([key, value]);
            }
        }
        let same = to.children().map(NodeRef::id).eq(children.iter().copied());
        FieldOrder {
            pairs,
            changed: (!same).then_some(children),
            repeats,
        }
    }
}

/// Copies the head comment of an item's first field to the item, or moves it there if the item has one.
///
/// Only lists reached through mappings alone are looked at; those that are written twice are looked at twice.
fn lift_first_heads(doc: &mut Document, top: NodeId, repeated: &HashMap<NodeId, usize>) {
    let mut pending = vec![(top, 1)];
    while let Some((id, times)) = pending.pop() {
        let node = doc.node(id);
        match node.kind() {
            // From the third time on there is nothing left to move.
            Kind::Mapping => pending.extend(node.children().map(|child| {
                let repeats = repeated.get(&child.id()).copied().unwrap_or(1);
                (child.id(), (times * repeats).min(2))
            })),
            Kind::Sequence => {
                for item in doc.child_ids(id) {
                    for _ in 0..times {
                        lift_first_head(doc, item);
                    }
                }
            }
            Kind::Scalar | Kind::Alias => {}
        }
    }
}

fn lift_first_head(doc: &mut Document, item: NodeId) {
    let node = doc.node(item);
    let Some(first) = node.first_child().filter(|first| first.is_scalar()) else {
        return;
    };
    let (own, lifted) = (node.comment(Slot::Head), first.comment(Slot::Head));
    if lifted.is_empty() {
        return;
    }
    let first = first.id();
    if own.is_empty() {
        let head = lifted.to_owned();
        doc.set_comment(item, Slot::Head, &head);
    } else {
        let head = format!("{own}\n{lifted}");
        doc.set_comment(item, Slot::Head, &head);
        doc.set_comment(first, Slot::Head, "");
    }
}
