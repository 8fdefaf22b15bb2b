//! Comparing two trees: by value, and by everything that is written.
//!
//! Equality by value gives every node a class number such that two nodes have the same number exactly if their
//! values are equal. Each node is visited once, an alias has the class of its target, and nothing is expanded, so a
//! "billion laughs" document costs no more than its text. Nothing recurses.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::document::{Document, Slot};
use crate::node::{Kind, KnownTag, NodeId, Tag};
use crate::noderef::NodeRef;
use crate::resolve::{float_value, int_value};

impl NodeRef<'_> {
    /// Whether the values of two nodes are equal: field order, styles, comments and spellings of numbers do not count.
    ///
    /// Tags do: `1` and `"1"` differ, and so do `1` and `1.0`. Aliases stand for their nodes; `<<` is a key like others.
    pub fn value_eq(self, other: NodeRef<'_>) -> bool {
        let mut classes = Classes::default();
        let one = classes.class_of(self);
        one == classes.class_of(other)
    }

    /// Whether two nodes are the same in all that decides how they are written: values, order, styles, tags, anchors
    /// and comments. Positions do not count.
    pub fn same_tree(self, other: NodeRef<'_>) -> bool {
        if !self.same_node(other) {
            return false;
        }
        let mut pending = vec![(self.first_child(), other.first_child())];
        while let Some(pair) = pending.pop() {
            let (one, other) = match pair {
                (None, None) => continue,
                (Some(one), Some(other)) => (one, other),
                (Some(_), None) | (None, Some(_)) => return false,
            };
            if !one.same_node(other) {
                return false;
            }
            pending.push((one.next_sibling(), other.next_sibling()));
            if !one.is_empty() || !other.is_empty() {
                pending.push((one.first_child(), other.first_child()));
            }
        }
        true
    }

    fn same_node(self, other: NodeRef<'_>) -> bool {
        self.kind() == other.kind()
            && self.style() == other.style()
            && self.value() == other.value()
            && self.tag() == other.tag()
            && ((!self.has_extra() && !other.has_extra())
                || (self.anchor() == other.anchor()
                    && Slot::ALL
                        .into_iter()
                        .all(|slot| self.comment(slot) == other.comment(slot))))
    }
}

impl Document {
    /// Whether two documents are the same in all that decides how they are written; see [`NodeRef::same_tree`].
    pub fn same_tree(&self, other: &Document) -> bool {
        self.comment(Slot::Head) == other.comment(Slot::Head)
            && self.comment(Slot::Foot) == other.comment(Slot::Foot)
            && self.root().same_tree(other.root())
    }
}

/// The value of a node, in terms of the classes of its children.
#[derive(PartialEq, Eq, Hash)]
enum Meaning<'a> {
    Null,
    Int(i128),
    Float(u64),
    Text(&'a str, Cow<'a, str>),
    List(&'a str, Vec<u32>),
    /// Pairs sorted by class.
    Map(&'a str, Vec<(u32, u32)>),
    /// An alias whose anchor is not in this document.
    Unknown(&'a str),
    /// An alias inside of its target, by how many levels up that is.
    Loop(usize),
}

#[derive(Default)]
struct Classes<'a> {
    numbers: HashMap<Meaning<'a>, u32>,
}

impl<'a> Classes<'a> {
    fn class_of(&mut self, top: NodeRef<'a>) -> u32 {
        let mut anchors = Anchors::default();
        let mut open: Vec<(NodeRef<'a>, Option<NodeRef<'a>>, Vec<u32>)> = Vec::new();
        let mut enter = Some(top);
        loop {
            let class = match enter.take() {
                Some(node) => match self.enter(node, &mut anchors, open.len()) {
                    Entered::Done(class) => class,
                    Entered::Alias(target) => {
                        enter = Some(target);
                        continue;
                    }
                    Entered::Open => {
                        open.push((node, node.first_child(), Vec::new()));
                        match next_child(&mut open) {
                            Some(child) => {
                                enter = Some(child);
                                continue;
                            }
                            None => self.close(&mut open, &mut anchors),
                        }
                    }
                },
                None => self.close(&mut open, &mut anchors),
            };
            let Some((_, _, classes)) = open.last_mut() else {
                return class;
            };
            classes.push(class);
            enter = next_child(&mut open);
        }
    }

    fn enter(&mut self, node: NodeRef<'a>, anchors: &mut Anchors, depth: usize) -> Entered<'a> {
        match node.kind() {
            Kind::Scalar => Entered::Done(self.number(scalar_meaning(node))),
            Kind::Alias => match anchors.target(node) {
                None => Entered::Done(self.number(Meaning::Unknown(node.value()))),
                Some(target) => match anchors.state.get(&target) {
                    Some(VisitState::Done(class)) => Entered::Done(*class),
                    Some(VisitState::Open(at)) => {
                        Entered::Done(self.number(Meaning::Loop(depth.saturating_sub(*at))))
                    }
                    None => Entered::Alias(node.document().node(target)),
                },
            },
            Kind::Mapping | Kind::Sequence => {
                if !node.anchor().is_empty() {
                    match anchors.state.get(&node.id()) {
                        Some(VisitState::Done(class)) => return Entered::Done(*class),
                        _ => anchors.state.insert(node.id(), VisitState::Open(depth)),
                    };
                }
                Entered::Open
            }
        }
    }

    /// The class of the innermost open collection, which is complete.
    fn close(
        &mut self,
        open: &mut Vec<(NodeRef<'a>, Option<NodeRef<'a>>, Vec<u32>)>,
        anchors: &mut Anchors,
    ) -> u32 {
        let Some((node, _, classes)) = open.pop() else {
            return u32::MAX;
        };
        let meaning = if node.is_mapping() {
            let (pairs, _) = classes.as_chunks::<2>();
            let mut pairs: Vec<(u32, u32)> = pairs.iter().map(|[k, v]| (*k, *v)).collect();
            pairs.sort_unstable();
            Meaning::Map(node.tag(), pairs)
        } else {
            Meaning::List(node.tag(), classes)
        };
        let class = self.number(meaning);
        if !node.anchor().is_empty() {
            anchors.state.insert(node.id(), VisitState::Done(class));
        }
        class
    }

    fn number(&mut self, meaning: Meaning<'a>) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry(meaning).or_insert(next)
    }
}

enum Entered<'a> {
    Done(u32),
    Alias(NodeRef<'a>),
    Open,
}

fn next_child<'a>(
    open: &mut [(NodeRef<'a>, Option<NodeRef<'a>>, Vec<u32>)],
) -> Option<NodeRef<'a>> {
    let (_, next, _) = open.last_mut()?;
    let child = (*next)?;
    *next = child.next_sibling();
    Some(child)
}

fn scalar_meaning(node: NodeRef<'_>) -> Meaning<'_> {
    let text = node.value();
    match node.resolved_tag() {
        Tag::Known(KnownTag::Null) => return Meaning::Null,
        Tag::Known(KnownTag::Int) => {
            if let Some(value) = int_value(text) {
                return Meaning::Int(value);
            }
        }
        Tag::Known(KnownTag::Float) => {
            if let Some(value) = float_value(text) {
                // Both zeros are equal.
                return Meaning::Float((value + 0.0).to_bits());
            }
        }
        Tag::Known(KnownTag::Bool) => {
            return Meaning::Text(node.tag(), text.to_ascii_lowercase().into());
        }
        _ => {}
    }
    Meaning::Text(node.tag(), text.into())
}

/// The targets of the aliases of one document.
#[derive(Default)]
struct Anchors {
    /// Filled at the first alias.
    targets: Option<HashMap<NodeId, NodeId>>,
    state: HashMap<NodeId, VisitState>,
}

enum VisitState {
    /// On the way down at this depth.
    Open(usize),
    Done(u32),
}

impl Anchors {
    fn target(&mut self, alias: NodeRef<'_>) -> Option<NodeId> {
        self.targets
            .get_or_insert_with(|| alias.document().alias_targets())
            .get(&alias.id())
            .copied()
    }
}
