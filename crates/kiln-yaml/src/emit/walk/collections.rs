//! Sequences and mappings, in block and in flow layout.

use super::{Children, EmitFrame, EmitWalk, Layout, NodeRole};
use crate::document::Slot;
use crate::emit::SequenceStyle;
use crate::emit::sink::Sink;
use crate::node::{Kind, Style};
use crate::noderef::NodeRef;

impl<'a> EmitWalk<'a, '_> {
    /// Writes the next child of the innermost collection, or its end.
    pub(super) fn step(&mut self) {
        let Some(frame) = self.frames.last_mut() else {
            return;
        };
        let is_first = std::mem::replace(&mut frame.is_first, false);
        let mut child = frame.children.next();
        if child.is_none() && matches!(frame.children, Children::Given(_)) {
            child = self.next_part();
        }
        let Some(frame) = self.frames.last_mut() else {
            return;
        };
        let is_mapping = matches!(frame.layout, Layout::BlockMapping | Layout::FlowMapping);
        let is_key = is_mapping && frame.at_key;
        match child {
            Some(child) => {
                let tail = if is_key {
                    std::mem::replace(&mut frame.tail, child.comment(Slot::Foot))
                } else {
                    ""
                };
                self.load_node(child, tail, is_key);
            }
            None => {
                let (node, tail) = (frame.node, frame.tail);
                let foot = if frame.is_key {
                    ""
                } else {
                    node.comment(Slot::Foot)
                };
                self.load("", node.comment(Slot::Line), foot, tail);
            }
        }
        let Some(frame) = self.frames.last() else {
            return;
        };
        match (frame.layout, frame.at_key) {
            (Layout::BlockSequence, _) => self.block_item(child, is_first),
            (Layout::FlowSequence, _) => self.flow_item(child, is_first),
            (Layout::BlockMapping, true) => self.block_key(child, is_first),
            (Layout::BlockMapping, false) => self.block_value(child),
            (Layout::FlowMapping, true) => self.flow_key(child, is_first),
            (Layout::FlowMapping, false) => self.flow_value(child),
        }
    }

    pub(super) fn open(&mut self, node: NodeRef<'a>, layout: Layout, is_key: bool) {
        let children = match self.replaced {
            Some((list, items)) if list == node.id() && self.is_replaced(node) => {
                Children::Given(items.iter())
            }
            _ => Children::Own(node.first_child()),
        };
        self.frames.push(EmitFrame {
            node,
            layout,
            children,
            outer_indent: self.indent,
            is_first: true,
            at_key: true,
            simple_key: false,
            comma_written: false,
            tail: "",
            is_key,
        });
    }

    /// Ids are only meaningful in their own document: that of the outermost node.
    pub(super) fn is_replaced(&self, node: NodeRef<'a>) -> bool {
        self.frames
            .first()
            .is_none_or(|root| std::ptr::eq(root.node.document(), node.document()))
    }

    pub(super) fn is_empty(&self, node: NodeRef<'a>) -> bool {
        match self.replaced {
            Some((list, items)) if list == node.id() && self.is_replaced(node) => items.is_empty(),
            _ => node.is_empty(),
        }
    }

    pub(super) fn close(&mut self) {
        if let Some(frame) = self.frames.pop() {
            self.indent = frame.outer_indent;
        }
    }

    pub(super) fn current(&mut self) -> Option<&mut EmitFrame<'a>> {
        self.frames.last_mut()
    }

    pub(super) fn block_item(&mut self, item: Option<NodeRef<'a>>, is_first: bool) {
        if is_first {
            let in_mapping = self.frames.len() > 1 && {
                let parent = &self.frames[self.frames.len() - 2];
                parent.layout == Layout::BlockMapping
            };
            let continues_key_line = self.sink.column() == 0 || !self.sink.indention;
            let stays = self.style == SequenceStyle::Compact && in_mapping && continues_key_line;
            self.indent = match self.indent {
                None => Some(0),
                Some(indent) if stays => Some(indent),
                Some(indent) => Some(indent + 2),
            };
        }
        let Some(item) = item else {
            // Line and foot comments stay in their slots for the next writer.
            return self.close();
        };
        self.write_head();
        self.sink.indent(self.columns());
        self.sink.indenting("-");
        self.node(item, NodeRole::Item, false);
        self.write_line();
        self.write_foot();
    }

    pub(super) fn block_key(&mut self, key: Option<NodeRef<'a>>, is_first: bool) {
        if is_first {
            self.indent = Some(self.indent.map_or(0, |indent| indent + 2));
        }
        self.write_head();
        let Some(key) = key else {
            // Line and foot comments stay in their slots for the next writer.
            return self.close();
        };
        self.sink.indent(self.columns());
        if !self.line.is_empty() {
            self.key_line = std::mem::take(&mut self.line);
        }
        self.key(key, |sink| sink.indenting("?"));
    }

    pub(super) fn block_value(&mut self, value: Option<NodeRef<'a>>) {
        let Some(value) = value else {
            return self.close();
        };
        if self.key_was_simple() {
            self.sink.attached(":");
        } else {
            self.sink.indent(self.columns());
            self.sink.indenting(":");
        }
        if !self.key_line.is_empty() {
            match value.kind() {
                // With a comment of its own, the value wins and the key's waits for another chance.
                Kind::Scalar if self.line.is_empty() => {
                    self.line = std::mem::take(&mut self.key_line);
                }
                Kind::Mapping | Kind::Sequence if !value.style().contains(Style::FLOW) => {
                    let line =
                        std::mem::replace(&mut self.line, std::mem::take(&mut self.key_line));
                    self.write_line();
                    self.line = line;
                }
                _ => {}
            }
        }
        self.node(value, NodeRole::KeyOrValue, false);
        self.write_line();
        self.write_foot();
    }

    /// Writes a key; one that cannot stand alone gets its mark first.
    fn key(&mut self, key: NodeRef<'a>, mark: impl FnOnce(&mut Sink)) {
        let simple = self.is_simple_key(key);
        if let Some(frame) = self.current() {
            frame.at_key = false;
            frame.simple_key = simple;
        }
        if simple {
            self.node(key, NodeRole::SimpleKey, true);
        } else {
            mark(self.sink);
            self.node(key, NodeRole::KeyOrValue, true);
        }
    }

    /// Goes on from a key to its value.
    fn key_was_simple(&mut self) -> bool {
        self.current().is_some_and(|frame| {
            frame.at_key = true;
            frame.simple_key
        })
    }

    pub(super) fn flow_start(&mut self, bracket: &str) {
        self.sink.opening(bracket);
        self.indent = Some(self.indent.map_or(2, |indent| indent + 2));
        self.flow_level += 1;
    }

    pub(super) fn flow_item(&mut self, item: Option<NodeRef<'a>>, is_first: bool) {
        if is_first {
            self.flow_start("[");
        }
        let Some(item) = item else {
            self.flow_level -= 1;
            self.close();
            if self.sink.column() == 0 {
                self.sink.indent(self.columns());
            }
            self.sink.attached("]");
            self.write_line();
            self.write_foot();
            return;
        };
        self.begin_flow_child(is_first);
        self.flow_child(item);
    }

    /// Writes the comma behind the child before, and what stands above this one.
    pub(super) fn begin_flow_child(&mut self, is_first: bool) {
        let comma_written = self.current().is_some_and(|frame| frame.comma_written);
        if !is_first && !comma_written {
            self.sink.attached(",");
        }
        self.write_head();
        if self.sink.column() == 0 {
            self.sink.indent(self.columns());
        }
    }

    /// Writes an item or a value; with a comment behind it, the comma comes before the comment.
    pub(super) fn flow_child(&mut self, child: NodeRef<'a>) {
        let commented = self.has_trailing_comment();
        if let Some(frame) = self.current() {
            frame.comma_written = commented;
        }
        self.node(child, NodeRole::KeyOrValue, false);
        if self.has_trailing_comment() {
            self.sink.attached(",");
        }
        self.write_line();
        self.write_foot();
    }

    pub(super) fn flow_key(&mut self, key: Option<NodeRef<'a>>, is_first: bool) {
        if is_first {
            self.flow_start("{");
        }
        let Some(key) = key else {
            let comma_written = self.current().is_some_and(|frame| frame.comma_written);
            let commented = !(self.head.is_empty() && self.foot.is_empty() && self.tail.is_empty());
            if commented && !is_first && !comma_written {
                self.sink.attached(",");
            }
            self.write_head();
            self.flow_level -= 1;
            self.close();
            self.sink.attached("}");
            self.write_line();
            self.write_foot();
            return;
        };
        self.begin_flow_child(is_first);
        self.key(key, |sink| sink.separate("?"));
    }

    pub(super) fn flow_value(&mut self, value: Option<NodeRef<'a>>) {
        let Some(value) = value else {
            return self.close();
        };
        if self.key_was_simple() {
            self.sink.attached(":");
        } else {
            self.sink.separate(":");
        }
        self.flow_child(value);
    }
}
