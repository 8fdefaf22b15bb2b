//! Walking the tree and writing structure, properties and comments.

mod collections;
mod nodes;
mod parts;
mod plain;

use std::collections::VecDeque;

use super::SequenceStyle;
use super::sink::Sink;
use crate::document::{Document, Slot};
use crate::node::{Kind, NodeId};
use crate::noderef::NodeRef;

pub(super) use parts::{Later, Part};
pub(super) use plain::plain_line;

/// Longest key that is written without `?`.
const MAX_SIMPLE_KEY: usize = 128;

pub(super) struct EmitWalk<'a, 's> {
    sink: &'s mut Sink,
    style: SequenceStyle,
    /// A sequence of the document and the items that stand in for its own.
    replaced: Option<(NodeId, &'a [NodeRef<'a>])>,
    /// Further items of that sequence.
    later: VecDeque<Later<'a, 's>>,
    // The comment slots: whatever writes next writes them.
    head: &'a str,
    line: &'a str,
    foot: &'a str,
    tail: &'a str,
    /// A key's line comment, until it is known what its value looks like.
    key_line: &'a str,
    /// None at the top, where nothing has been indented yet.
    indent: Option<usize>,
    flow_level: usize,
    frames: Vec<EmitFrame<'a>>,
}

/// A collection that is being written.
struct EmitFrame<'a> {
    node: NodeRef<'a>,
    layout: Layout,
    children: Children<'a>,
    outer_indent: Option<usize>,
    is_first: bool,
    /// Whether the next child of a mapping is a key.
    at_key: bool,
    /// Whether the current key was written without `?`.
    simple_key: bool,
    /// Whether the comma behind the child before has been written already.
    comma_written: bool,
    /// The foot comment of the key before, written once its whole value is.
    tail: &'a str,
    /// A key's own foot comment is its mapping's business.
    is_key: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    BlockSequence,
    BlockMapping,
    FlowSequence,
    FlowMapping,
}

enum Children<'a> {
    Own(Option<NodeRef<'a>>),
    Given(std::slice::Iter<'a, NodeRef<'a>>),
}

impl<'a> Iterator for Children<'a> {
    type Item = NodeRef<'a>;

    fn next(&mut self) -> Option<NodeRef<'a>> {
        match self {
            Children::Given(items) => items.next().copied(),
            Children::Own(next) => {
                let node = (*next)?;
                *next = node.next_sibling();
                Some(node)
            }
        }
    }
}

/// The role of a node, as far as it decides how the node is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NodeRole {
    Root,
    Item,
    SimpleKey,
    KeyOrValue,
}

impl<'a, 's> EmitWalk<'a, 's> {
    pub(super) fn new(
        sink: &'s mut Sink,
        style: SequenceStyle,
        replaced: Option<(NodeId, &'a [NodeRef<'a>])>,
        carried: [&'a str; 5],
    ) -> EmitWalk<'a, 's> {
        let [head, line, foot, tail, key_line] = carried;
        EmitWalk {
            sink,
            style,
            replaced,
            later: VecDeque::new(),
            head,
            line,
            foot,
            tail,
            key_line,
            indent: None,
            flow_level: 0,
            frames: Vec::with_capacity(16),
        }
    }

    /// Lets the sequence whose items are replaced go on with items that other threads write.
    pub(super) fn with_later(mut self, later: VecDeque<Later<'a, 's>>) -> EmitWalk<'a, 's> {
        self.later = later;
        self
    }

    /// Writes a document and returns the comments that nothing has written.
    pub(super) fn document(mut self, doc: &'a Document, separated: bool) -> [&'a str; 5] {
        self.load(doc.comment(Slot::Head), "", "", "");
        if separated {
            self.sink.indent(0);
            self.sink.separate("---");
            self.sink.indent(0);
        }
        if !self.head.is_empty() {
            self.write_head();
            self.sink.line_break();
        }
        let root = doc.root();
        self.load_node(root, "", false);
        self.write_head();
        self.node(root, NodeRole::Root, false);
        self.write_line();
        self.write_foot();
        while !self.frames.is_empty() && !self.sink.is_full() {
            if !self.plain_child() {
                self.step();
            }
        }
        self.load("", "", doc.comment(Slot::Foot), "");
        // A document's foot is always set off.
        self.sink.foot_indent = Some(0);
        self.write_foot();
        self.sink.foot_indent = None;
        self.sink.indent(0);
        self.slots()
    }

    fn slots(&self) -> [&'a str; 5] {
        [self.head, self.line, self.foot, self.tail, self.key_line]
    }

    // ---- comments --------------------------------------------------------------------------------------

    /// Puts comments into the slots, each only if there is one.
    fn load(&mut self, head: &'a str, line: &'a str, foot: &'a str, tail: &'a str) {
        let fill = |slot: &mut &'a str, text: &'a str| {
            if !text.is_empty() {
                *slot = text;
            }
        };
        fill(&mut self.head, head);
        fill(&mut self.line, line);
        fill(&mut self.foot, foot);
        fill(&mut self.tail, tail);
    }

    /// Loads the comments before a node is written; collections write the rest at their end.
    fn load_node(&mut self, node: NodeRef<'a>, tail: &'a str, is_key: bool) {
        // Sequences and aliases as keys lose the foot of the key before them.
        let tail = match node.kind() {
            Kind::Scalar | Kind::Mapping => tail,
            Kind::Sequence | Kind::Alias => "",
        };
        if !node.has_extra() {
            self.load("", "", "", tail);
            return;
        }
        let head = node.comment(Slot::Head);
        match node.kind() {
            Kind::Mapping | Kind::Sequence => self.load(head, "", "", tail),
            Kind::Scalar | Kind::Alias => {
                let foot = if is_key { "" } else { node.comment(Slot::Foot) };
                self.load(head, node.comment(Slot::Line), foot, tail);
            }
        }
    }

    fn has_trailing_comment(&self) -> bool {
        !(self.line.is_empty() && self.foot.is_empty() && self.tail.is_empty())
    }

    fn columns(&self) -> usize {
        self.indent.unwrap_or(0)
    }

    fn write_head(&mut self) {
        let indent = self.columns();
        let tail = std::mem::take(&mut self.tail);
        if !tail.is_empty() {
            self.sink.indent(indent);
            self.sink.comment(tail, indent);
            self.sink.foot_indent = Some(indent);
        }
        let head = std::mem::take(&mut self.head);
        if !head.is_empty() {
            self.sink.indent(indent);
            self.sink.comment(head, indent);
        }
    }

    fn write_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.sink.blank();
            self.sink.comment(line, self.columns());
        }
    }

    fn write_foot(&mut self) {
        let foot = std::mem::take(&mut self.foot);
        if !foot.is_empty() {
            let indent = self.columns();
            self.sink.indent(indent);
            self.sink.comment(foot, indent);
            self.sink.foot_indent = Some(indent);
        }
    }
}
