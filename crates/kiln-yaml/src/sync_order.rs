//! Giving the fields of a changed tree the order they had in the original.
//!
//! Functions written with other libraries return mappings sorted or shuffled; this brings back the order a person
//! wrote. At every level the fields of the original come first, new ones after them; lists are walked by place.
//! The rules, the error and the loss of the document's own comments are those of kyaml's `SyncOrder`.

use std::collections::HashMap;
use std::fmt;

use crate::document::{Document, Slot};
use crate::edit::EditError;
use crate::merge_comments::Start;
use crate::node::{Content, Kind, NodeId};
use crate::noderef::NodeRef;

/// Why the order could not be restored: a list of the original is something else in the changed tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SyncOrderError(EditError);

impl fmt::Display for SyncOrderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = go_quoted(&self.0.to_string());
        write!(f, "failed to sync field order: {text}")
    }
}

impl std::error::Error for SyncOrderError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

/// Orders the fields below `to` as they are ordered below `from`.
///
/// With [`Start::Document`] the document's own comments are lost, as in kyaml, if there is anything to order.
/// After an error `to` is partly ordered.
pub fn sync_order(
    from: NodeRef<'_>,
    to: &mut Document,
    start: Start,
) -> Result<(), SyncOrderError> {
    let top = start.node(to);
    if start == Start::Document
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
    let mut repeated = Vec::new();
    let mut pending = vec![(from, top)];
    while let Some((from, to_id)) = pending.pop() {
        let node = to.node(to_id);
        if is_nothing(from) || is_nothing(node) {
            continue;
        }
        let first = pending.len();
        match from.kind() {
            Kind::Mapping if node.is_mapping() => {
                let order = FieldOrder::new(from, node);
                pending.extend(order.pairs.iter().copied());
                if let Some(children) = order.changed {
                    to.set_children(to_id, &children);
                }
                if !order.repeats.is_empty() {
                    repeated.push((to_id, order.repeats));
                }
            }
            Kind::Sequence if node.is_sequence() => {
                pending.extend(from.items().zip(node.items().map(NodeRef::id)));
            }
            Kind::Sequence => {
                return Err(SyncOrderError(EditError::wrong_kind(Kind::Sequence, node)));
            }
            Kind::Mapping | Kind::Scalar | Kind::Alias => {}
        }
        // Depth first and in order, so that the first mismatch is the one reported.
        if let Some(added) = pending.get_mut(first..) {
            added.reverse();
        }
    }
    // Inner mappings were found last and must be complete before outer ones are copied.
    for (mapping, repeats) in repeated.into_iter().rev() {
        insert_repeats(to, mapping, &repeats);
    }
    lift_first_heads(to, top);
    Ok(())
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
    /// Where the first field of a name comes again, and which pair it is: kyaml forgets later values of a repeated key.
    repeats: Vec<(usize, NodeId, NodeId)>,
}

impl<'f> FieldOrder<'f> {
    fn new(from: NodeRef<'f>, to: NodeRef<'_>) -> FieldOrder<'f> {
        struct Field {
            key: NodeId,
            value: NodeId,
            /// How often the name stands in the changed mapping and was not placed in the order of the original.
            left: usize,
            /// How often it was.
            placed: usize,
        }
        let mut fields: HashMap<&str, Field> = HashMap::new();
        for (key, value) in to.entries() {
            let field = fields.entry(key.value()).or_insert(Field {
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
                repeats.push((place, key, value));
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

fn insert_repeats(doc: &mut Document, mapping: NodeId, repeats: &[(usize, NodeId, NodeId)]) {
    let mut singles = doc.child_ids(mapping).into_iter();
    let mut repeats = repeats.iter().peekable();
    let mut children = Vec::new();
    for place in 0.. {
        if let Some(&(_, key, value)) = repeats.next_if(|(at, _, _)| *at == place) {
            children.extend([duplicate(doc, key), duplicate(doc, value)]);
            continue;
        }
        let (Some(key), Some(value)) = (singles.next(), singles.next()) else {
            break;
        };
        children.extend([key, value]);
    }
    doc.set_children(mapping, &children);
}

/// A deep copy of a node within its document.
fn duplicate(doc: &mut Document, node: NodeId) -> NodeId {
    let copy_one = |doc: &mut Document, node: NodeId| {
        let mut record = *doc.record(node);
        record.next = NodeId::NIL;
        match &mut record.content {
            Content::Mapping { first, last } | Content::Sequence { first, last } => {
                (*first, *last) = (NodeId::NIL, NodeId::NIL);
            }
            Content::Scalar(_) | Content::Alias(_) => {}
        }
        if let Some(extra) = doc.extras.get(record.extra as usize).copied() {
            record.extra = doc.extras.len() as u32;
            doc.extras.push(extra);
        }
        doc.add(record)
    };
    let top = copy_one(doc, node);
    let mut pending = vec![(node, top)];
    while let Some((from, to)) = pending.pop() {
        for child in doc.child_ids(from) {
            let copy = copy_one(doc, child);
            doc.append_child(to, copy);
            pending.push((child, copy));
        }
    }
    top
}

/// Text as Go's `%q` writes it.
fn go_quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            '\0'..' ' | '\u{7f}' => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            _ if is_go_printable(c) => out.push(c),
            '\0'..='\u{ffff}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            _ => out.push_str(&format!("\\U{:08x}", u32::from(c))),
        }
    }
    out.push('"');
    out
}

/// Close to Go's `IsPrint`: no controls, no separators but the space, no formatting or private characters.
fn is_go_printable(c: char) -> bool {
    !c.is_control()
        && (c == ' ' || !c.is_whitespace())
        && !matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{e000}'..='\u{f8ff}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}'
            | '\u{e0000}'..)
}

/// Copies the head comment of an item's first field to the item, or moves it there if the item has one.
///
/// Only lists reached through mappings alone are looked at.
fn lift_first_heads(doc: &mut Document, top: NodeId) {
    let mut pending = vec![top];
    while let Some(id) = pending.pop() {
        let node = doc.node(id);
        match node.kind() {
            Kind::Mapping => pending.extend(node.children().map(NodeRef::id)),
            Kind::Sequence => {
                for item in doc.child_ids(id) {
                    lift_first_head(doc, item);
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
