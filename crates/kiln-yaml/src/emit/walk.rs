//! Walking the tree and writing structure, properties and comments.

use super::SequenceStyle;
use super::analyze::{Allows, analyze, is_multiline};
use super::sink::Sink;
use crate::document::{Document, Slot};
use crate::node::{Kind, KnownTag, NodeId, Style, Tag};
use crate::noderef::NodeRef;
use crate::resolve::resolve;

/// Longest key that is written without `?`.
const MAX_SIMPLE_KEY: usize = 128;

pub(super) struct Walk<'a> {
    sink: &'a mut Sink,
    style: SequenceStyle,
    /// A sequence of the document and the items that stand in for its own.
    replaced: Option<(NodeId, &'a [NodeRef<'a>])>,
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
    frames: Vec<Frame<'a>>,
}

/// A collection that is being written.
struct Frame<'a> {
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

/// Where a node stands, as far as this decides how it is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Root,
    Item,
    SimpleKey,
    KeyOrValue,
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        sink: &'a mut Sink,
        style: SequenceStyle,
        replaced: Option<(NodeId, &'a [NodeRef<'a>])>,
        carried: &'a [String; 5],
    ) -> Walk<'a> {
        let [head, line, foot, tail, key_line] = carried;
        Walk {
            sink,
            style,
            replaced,
            head,
            line,
            foot,
            tail,
            key_line,
            indent: None,
            flow_level: 0,
            frames: Vec::new(),
        }
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
        self.node(root, Place::Root, false);
        self.write_line();
        self.write_foot();
        while !self.frames.is_empty() {
            self.step();
        }
        self.load("", "", doc.comment(Slot::Foot), "");
        // A document's foot is always set off.
        self.sink.foot_indent = Some(0);
        self.write_foot();
        self.sink.foot_indent = None;
        self.sink.indent(0);
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

    /// Loads what a node says before it is written; collections say the rest at their end.
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

    // ---- collections -----------------------------------------------------------------------------------

    /// Writes the next child of the innermost collection, or its end.
    fn step(&mut self) {
        let Some(frame) = self.frames.last_mut() else {
            return;
        };
        let is_first = std::mem::replace(&mut frame.is_first, false);
        let child = frame.children.next();
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

    fn open(&mut self, node: NodeRef<'a>, layout: Layout, is_key: bool) {
        let children = match self.replaced {
            Some((list, items)) if list == node.id() && self.is_replaced(node) => {
                Children::Given(items.iter())
            }
            _ => Children::Own(node.first_child()),
        };
        self.frames.push(Frame {
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
    fn is_replaced(&self, node: NodeRef<'a>) -> bool {
        self.frames
            .first()
            .is_none_or(|root| std::ptr::eq(root.node.document(), node.document()))
    }

    fn is_empty(&self, node: NodeRef<'a>) -> bool {
        match self.replaced {
            Some((list, items)) if list == node.id() && self.is_replaced(node) => items.is_empty(),
            _ => node.is_empty(),
        }
    }

    fn close(&mut self) {
        if let Some(frame) = self.frames.pop() {
            self.indent = frame.outer_indent;
        }
    }

    fn current(&mut self) -> Option<&mut Frame<'a>> {
        self.frames.last_mut()
    }

    fn block_item(&mut self, item: Option<NodeRef<'a>>, is_first: bool) {
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
        self.node(item, Place::Item, false);
        self.write_line();
        self.write_foot();
    }

    fn block_key(&mut self, key: Option<NodeRef<'a>>, is_first: bool) {
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
        let simple = self.is_simple_key(key);
        if let Some(frame) = self.current() {
            frame.at_key = false;
            frame.simple_key = simple;
        }
        if simple {
            self.node(key, Place::SimpleKey, true);
        } else {
            self.sink.indenting("?");
            self.node(key, Place::KeyOrValue, true);
        }
    }

    fn block_value(&mut self, value: Option<NodeRef<'a>>) {
        let Some(value) = value else {
            return self.close();
        };
        let simple = self.current().is_some_and(|frame| {
            frame.at_key = true;
            frame.simple_key
        });
        if simple {
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
        self.node(value, Place::KeyOrValue, false);
        self.write_line();
        self.write_foot();
    }

    fn flow_start(&mut self, bracket: &str) {
        self.sink.opening(bracket);
        self.indent = Some(self.indent.map_or(2, |indent| indent + 2));
        self.flow_level += 1;
    }

    fn flow_item(&mut self, item: Option<NodeRef<'a>>, is_first: bool) {
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
    fn begin_flow_child(&mut self, is_first: bool) {
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
    fn flow_child(&mut self, child: NodeRef<'a>) {
        let commented = self.has_trailing_comment();
        if let Some(frame) = self.current() {
            frame.comma_written = commented;
        }
        self.node(child, Place::KeyOrValue, false);
        if self.has_trailing_comment() {
            self.sink.attached(",");
        }
        self.write_line();
        self.write_foot();
    }

    fn flow_key(&mut self, key: Option<NodeRef<'a>>, is_first: bool) {
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
        let simple = self.is_simple_key(key);
        if let Some(frame) = self.current() {
            frame.at_key = false;
            frame.simple_key = simple;
        }
        if simple {
            self.node(key, Place::SimpleKey, true);
        } else {
            self.sink.separate("?");
            self.node(key, Place::KeyOrValue, true);
        }
    }

    fn flow_value(&mut self, value: Option<NodeRef<'a>>) {
        let Some(value) = value else {
            return self.close();
        };
        let simple = self.current().is_some_and(|frame| {
            frame.at_key = true;
            frame.simple_key
        });
        if simple {
            self.sink.attached(":");
        } else {
            self.sink.separate(":");
        }
        self.flow_child(value);
    }

    // ---- nodes -----------------------------------------------------------------------------------------

    /// Writes a scalar or an alias, or begins a collection.
    fn node(&mut self, node: NodeRef<'a>, place: Place, is_key: bool) {
        match node.kind() {
            Kind::Alias => {
                self.sink.separate("*");
                self.sink.out.push_str(node.value());
            }
            Kind::Scalar => self.scalar(node, place),
            Kind::Sequence | Kind::Mapping => {
                self.write_properties(node, self.shown_collection_tag(node));
                let flow = self.flow_level > 0
                    || node.style().contains(Style::FLOW)
                    || self.is_empty(node);
                let layout = match (node.kind(), flow) {
                    (Kind::Sequence, true) => Layout::FlowSequence,
                    (Kind::Sequence, false) => Layout::BlockSequence,
                    (_, true) => Layout::FlowMapping,
                    (_, false) => Layout::BlockMapping,
                };
                self.open(node, layout, is_key);
            }
        }
    }

    fn scalar(&mut self, node: NodeRef<'a>, place: Place) {
        let text = node.value();
        let (tag, must_quote) = shown_scalar_tag(node);
        let allows = analyze(text);
        let wanted = wanted_style(node, allows, must_quote);
        let style = self.possible_style(wanted, text, allows, place);
        self.write_properties(node, tag);
        let indent = self.indent.map_or(2, |indent| indent + 2);
        match style {
            Style::DOUBLE_QUOTED => self.sink.double_quoted(text),
            Style::SINGLE_QUOTED => self.sink.single_quoted(text, indent),
            Style::LITERAL | Style::FOLDED => {
                let literal = style == Style::LITERAL;
                self.sink.separate(if literal { "|" } else { ">" });
                self.sink.block_hints(text);
                if self.line.is_empty() {
                    self.sink.line_break();
                } else {
                    let outer = self.indent.replace(indent);
                    self.write_line();
                    self.indent = outer;
                }
                if literal {
                    self.sink.literal_text(text, indent);
                } else {
                    self.sink.folded_text(text, indent);
                }
            }
            _ => self.sink.plain(text),
        }
    }

    /// The style that the text and the place allow.
    fn possible_style(&self, wanted: Style, text: &str, allows: Allows, place: Place) -> Style {
        let in_flow = self.flow_level > 0;
        let is_simple_key = place == Place::SimpleKey;
        let mut style = wanted;
        if is_simple_key && allows.multiline {
            style = Style::DOUBLE_QUOTED;
        }
        if style == Style::NONE {
            let allowed = if in_flow {
                allows.plain_in_flow
            } else {
                allows.plain_in_block
            };
            if !allowed || (text.is_empty() && (in_flow || is_simple_key)) {
                style = Style::SINGLE_QUOTED;
            }
        }
        if style == Style::SINGLE_QUOTED && !allows.single_quoted {
            style = Style::DOUBLE_QUOTED;
        }
        if matches!(style, Style::LITERAL | Style::FOLDED)
            && (!allows.block || in_flow || is_simple_key)
        {
            style = Style::DOUBLE_QUOTED;
        }
        style
    }

    fn is_simple_key(&self, key: NodeRef<'a>) -> bool {
        let tag_length = |tag: Option<&str>| tag.map_or(0, str::len);
        let length = match key.kind() {
            Kind::Alias => key.value().len(),
            Kind::Scalar => {
                let text = key.value();
                if is_multiline(text) {
                    return false;
                }
                key.anchor().len() + tag_length(shown_scalar_tag(key).0) + text.len()
            }
            Kind::Sequence | Kind::Mapping => {
                if !self.is_empty(key) {
                    return false;
                }
                key.anchor().len() + tag_length(self.shown_collection_tag(key))
            }
        };
        length <= MAX_SIMPLE_KEY
    }

    // ---- properties ------------------------------------------------------------------------------------

    fn write_properties(&mut self, node: NodeRef<'a>, tag: Option<&str>) {
        let anchor = node.anchor();
        if !anchor.is_empty() {
            self.sink.separate("&");
            self.sink.out.push_str(anchor);
        }
        if let Some(tag) = tag {
            self.write_tag(tag);
        }
    }

    fn write_tag(&mut self, tag: &str) {
        self.sink.blank();
        if tag.len() > 1 && tag.starts_with('!') {
            let handle = if tag.len() > 2 && tag.starts_with("!!") {
                2
            } else {
                1
            };
            self.sink.out.push_str(&tag[..handle]);
            self.write_tag_text(&tag[handle..]);
        } else {
            self.sink.out.push_str("!<");
            self.write_tag_text(tag);
            self.sink.out.push('>');
        }
        self.sink.whitespace = false;
        self.sink.indention = false;
    }

    fn write_tag_text(&mut self, text: &str) {
        for byte in text.bytes() {
            let plain = byte.is_ascii_alphanumeric() || b"-_;/?:@&=+$,.~*'()[]".contains(&byte);
            if plain {
                self.sink.out.push(byte as char);
            } else {
                self.sink.out.push_str(&format!("%{byte:02X}"));
            }
        }
    }

    fn shown_collection_tag(&self, node: NodeRef<'a>) -> Option<&'a str> {
        let natural = match node.kind() {
            Kind::Sequence => Tag::Known(KnownTag::Seq),
            _ => Tag::Known(KnownTag::Map),
        };
        let tag = node.stored_tag();
        let shown =
            node.style().contains(Style::TAGGED) || (tag != natural && tag != Tag::Implicit);
        (shown && !node.tag().is_empty()).then(|| node.tag())
    }
}

/// The tag to write, and whether the text must be quoted to stay a string.
fn shown_scalar_tag(node: NodeRef<'_>) -> (Option<&str>, bool) {
    let style = node.style();
    let tag = node.stored_tag();
    if tag == Tag::Implicit {
        return (None, false);
    }
    if style.contains(Style::TAGGED) {
        let tag = node.tag();
        return ((!tag.is_empty()).then_some(tag), false);
    }
    let is_string = tag == Tag::Known(KnownTag::Str);
    if is_string && style.is_quoted_or_block() {
        return (None, false);
    }
    if Tag::Known(resolve(node.value())) == tag {
        (None, false)
    } else if is_string {
        (None, true)
    } else {
        (Some(node.tag()), false)
    }
}

/// The style the node asks for.
fn wanted_style(node: NodeRef<'_>, allows: Allows, must_quote: bool) -> Style {
    let style = node.style();
    if style.is_quoted_or_block() {
        let styles = [
            Style::DOUBLE_QUOTED,
            Style::SINGLE_QUOTED,
            Style::LITERAL,
            Style::FOLDED,
        ];
        let wanted = styles.into_iter().find(|wanted| style.contains(*wanted));
        return wanted.unwrap_or_default();
    }
    if allows.multiline && memchr::memchr(b'\n', node.value().as_bytes()).is_some() {
        // Inside flow collections this turns into double quotes further on.
        Style::LITERAL
    } else if must_quote {
        Style::DOUBLE_QUOTED
    } else {
        Style::NONE
    }
}
