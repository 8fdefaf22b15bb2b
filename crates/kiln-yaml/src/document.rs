//! A document: the arena of its nodes, the text they point into, and the primitives that change it.
//!
//! Every primitive that changes the tree marks the document as changed, so that one that was only read can be
//! written back with the bytes it came with. Nothing here recurses: trees may be as deep as the input allows.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::allowance::Charge;
use crate::error::Position;
use crate::lines::LineIndex;
use crate::node::{Extra, KnownTag, NodeContent, NodeData, NodeId, Style, Tag, Text};
use crate::noderef::NodeRef;
use crate::tags::TagTable;

/// One YAML document as an editable tree.
///
/// Inside an entered [`Allowance`](crate::Allowance) that is exceeded, a document stores no more text: new scalars and
/// comments are empty, and copies have no children.
#[derive(Debug)]
pub struct Document {
    pub(crate) source: Arc<str>,
    pub(crate) pool: String,
    pub(crate) nodes: Vec<NodeData>,
    pub(crate) extras: Vec<Extra>,
    pub(crate) tags: TagTable,
    pub(crate) root: NodeId,
    pub(crate) head: Text,
    pub(crate) foot: Text,
    /// The part of the source that the document was read from.
    pub(crate) span: Range<usize>,
    /// Where the document begins for go-yaml: at its `---`, or at its first node.
    pub(crate) begin: usize,
    /// How many nodes the document had when it was parsed; 0 if it is not a parsed document.
    pub(crate) parsed_nodes: usize,
    pub(crate) changed: bool,
    pub(crate) lines: OnceLock<LineIndex>,
    pub(crate) charge: Charge,
}

/// The position of a comment relative to its node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Slot {
    /// On lines of its own above the node.
    Head,
    /// At the end of the node's line.
    Line,
    /// On lines of its own below the node.
    Foot,
}

impl Slot {
    /// Every slot, from top to bottom.
    pub const ALL: [Slot; 3] = [Slot::Head, Slot::Line, Slot::Foot];
}

impl Clone for Document {
    fn clone(&self) -> Document {
        let nodes = self.nodes.len() * size_of::<NodeData>();
        let extras = self.extras.len() * size_of::<Extra>();
        let charge = Charge::of(size_of::<Document>() + self.pool.len() + nodes + extras);
        Document {
            source: self.source.clone(),
            pool: self.pool.clone(),
            nodes: self.nodes.clone(),
            extras: self.extras.clone(),
            tags: self.tags.clone(),
            root: self.root,
            head: self.head,
            foot: self.foot,
            span: self.span.clone(),
            begin: self.begin,
            parsed_nodes: self.parsed_nodes,
            changed: self.changed,
            lines: self.lines.clone(),
            charge,
        }
    }
}

impl Document {
    /// A new document whose root is an empty block mapping.
    pub fn new_mapping() -> Document {
        let mut doc = Document::with_source(Arc::from(""));
        doc.root = doc.add(NodeData::new(
            NodeContent::MAPPING,
            Tag::Known(KnownTag::Map),
            Style::NONE,
        ));
        doc.changed = true;
        doc
    }

    /// A new document that is a copy of the tree below `node` (comments of `node` included).
    ///
    /// Shares the text it was read from, so that this costs one pass over the copied nodes.
    pub fn from_node(node: NodeRef<'_>) -> Document {
        let mut doc = Document::with_source(node.doc.source.clone());
        doc.span = node.span().unwrap_or(0..0);
        doc.root = doc.import(node);
        doc.changed = true;
        doc
    }

    pub(crate) fn with_source(source: Arc<str>) -> Document {
        Document {
            source,
            pool: String::new(),
            nodes: Vec::new(),
            extras: Vec::new(),
            tags: TagTable::default(),
            root: NodeId::NIL,
            head: Text::EMPTY,
            foot: Text::EMPTY,
            span: 0..0,
            begin: 0,
            parsed_nodes: 0,
            changed: false,
            lines: OnceLock::new(),
            charge: Charge::of(size_of::<Document>()),
        }
    }

    /// The top node.
    pub fn root(&self) -> NodeRef<'_> {
        self.node(self.root)
    }

    /// The node behind an id of this document.
    pub fn node(&self, id: NodeId) -> NodeRef<'_> {
        NodeRef { doc: self, id }
    }

    /// Whether nothing has changed the tree since it was read.
    pub fn is_unchanged(&self) -> bool {
        !self.changed
    }

    /// The bytes the document was read from (separator lines not included).
    pub fn source_text(&self) -> &str {
        &self.source[self.span.clone()]
    }

    /// Where the document begins: at its `---` if it has one, else at its first node.
    pub fn position(&self) -> Position {
        self.line_index().position(&self.source, self.begin)
    }

    /// The comment that belongs to the document itself rather than to its first node.
    pub fn comment(&self, slot: Slot) -> &str {
        match slot {
            Slot::Head => self.text(self.head),
            Slot::Line => "",
            Slot::Foot => self.text(self.foot),
        }
    }

    /// Sets the document's own head or foot comment; a document has no line comment.
    pub fn set_document_comment(&mut self, slot: Slot, comment: &str) {
        let text = self.intern(comment);
        match slot {
            Slot::Head => self.head = text,
            Slot::Foot => self.foot = text,
            Slot::Line => return,
        }
        self.changed = true;
    }

    // ---- new nodes -------------------------------------------------------------------------------------

    /// A new scalar, not yet part of the tree. An empty `tag` means "whatever the text resolves to".
    pub fn new_scalar(&mut self, value: &str, tag: &str) -> NodeId {
        let text = self.intern(value);
        let tag = self.intern_tag(tag);
        self.add(NodeData::new(NodeContent::Scalar(text), tag, Style::NONE))
    }

    /// A new string: written in a way that reads back as a string.
    pub fn new_string(&mut self, value: &str) -> NodeId {
        let text = self.intern(value);
        let tag = Tag::Known(KnownTag::Str);
        self.add(NodeData::new(NodeContent::Scalar(text), tag, Style::NONE))
    }

    /// A new empty block mapping, not yet part of the tree.
    pub fn new_mapping_node(&mut self) -> NodeId {
        self.add(NodeData::new(
            NodeContent::MAPPING,
            Tag::Known(KnownTag::Map),
            Style::NONE,
        ))
    }

    /// A new empty block sequence, not yet part of the tree.
    pub fn new_sequence_node(&mut self) -> NodeId {
        self.add(NodeData::new(
            NodeContent::SEQUENCE,
            Tag::Known(KnownTag::Seq),
            Style::NONE,
        ))
    }

    /// A deep copy of a node of any document, not yet part of this tree.
    pub fn import(&mut self, node: NodeRef<'_>) -> NodeId {
        let shared = Arc::ptr_eq(&self.source, &node.doc.source);
        // Pairs of (source node, copy) whose children are still to be copied.
        let top = self.import_one(node, shared);
        let mut pending = vec![(node.id, top)];
        while let Some((from, to)) = pending.pop() {
            for child in node.doc.node(from).children() {
                if self.charge.is_exceeded() {
                    return top;
                }
                let copy = self.import_one(child, shared);
                self.append_child(to, copy);
                if child.first_child().is_some() {
                    pending.push((child.id, copy));
                }
            }
        }
        self.changed = true;
        top
    }

    fn import_one(&mut self, node: NodeRef<'_>, shared: bool) -> NodeId {
        let from = node.doc;
        let data = *from.node_data(node.id);
        let copy_text = |doc: &mut Document, text: Text| {
            if shared && !text.in_pool() {
                text
            } else {
                doc.intern(from.text(text))
            }
        };
        let content = match data.content {
            NodeContent::Scalar(text) => NodeContent::Scalar(copy_text(self, text)),
            NodeContent::Alias(text) => NodeContent::Alias(copy_text(self, text)),
            NodeContent::Mapping { .. } => NodeContent::MAPPING,
            NodeContent::Sequence { .. } => NodeContent::SEQUENCE,
        };
        let tag = match data.tag.unpack() {
            Tag::Custom(_) => self.intern_tag(from.tag_text(data.tag.unpack())),
            // Without its position a node does not count as read, and so has the tag that its text resolves to.
            Tag::Implicit if !shared && node.span().is_some() => node.resolved_tag(),
            other => other,
        };
        let mut copy = NodeData::new(content, tag, data.style);
        if shared {
            (copy.start, copy.end) = (data.start, data.end);
        }
        let id = self.add(copy);
        if data.extra != NodeData::NO_EXTRA {
            let extra = from.extras[data.extra as usize];
            let extra = Extra {
                head: copy_text(self, extra.head),
                line: copy_text(self, extra.line),
                foot: copy_text(self, extra.foot),
                anchor: copy_text(self, extra.anchor),
            };
            *self.extra_mut(id) = extra;
        }
        id
    }

    // ---- changing single nodes -------------------------------------------------------------------------

    /// Makes `node` the top node.
    pub fn set_root(&mut self, node: NodeId) {
        self.root = node;
        self.changed = true;
    }

    /// Sets a scalar's text and keeps its tag and style. Does nothing to collections.
    pub fn set_value(&mut self, node: NodeId, value: &str) {
        let tag = self.node(node).resolved_tag();
        let text = self.intern(value);
        let data = self.node_data_mut(node);
        if let NodeContent::Scalar(old) | NodeContent::Alias(old) = &mut data.content {
            *old = text;
            data.tag = tag.into();
        }
    }

    /// Sets a node's tag; empty means "whatever the text resolves to".
    pub fn set_tag(&mut self, node: NodeId, tag: &str) {
        let tag = self.intern_tag(tag);
        self.node_data_mut(node).tag = tag.into();
    }

    /// Sets how a node is written.
    pub fn set_style(&mut self, node: NodeId, style: Style) {
        self.node_data_mut(node).style = style;
    }

    /// Sets one of a node's comments; empty removes it. The text includes the `#`.
    pub fn set_comment(&mut self, node: NodeId, slot: Slot, comment: &str) {
        if comment.is_empty() && self.node_data(node).extra == NodeData::NO_EXTRA {
            return;
        }
        let text = self.intern(comment);
        let extra = self.extra_mut(node);
        match slot {
            Slot::Head => extra.head = text,
            Slot::Line => extra.line = text,
            Slot::Foot => extra.foot = text,
        }
        self.changed = true;
    }

    /// Sets a node's anchor; empty removes it.
    pub fn set_anchor(&mut self, node: NodeId, anchor: &str) {
        if anchor.is_empty() && self.node_data(node).extra == NodeData::NO_EXTRA {
            return;
        }
        let text = self.intern(anchor);
        self.extra_mut(node).anchor = text;
        self.changed = true;
    }

    // ---- changing children -----------------------------------------------------------------------------

    /// Appends an item to a sequence.
    pub fn push_item(&mut self, sequence: NodeId, item: NodeId) {
        self.append_child(sequence, item);
        self.changed = true;
    }

    /// Appends a pair to a mapping without looking for the key.
    pub fn push_entry(&mut self, mapping: NodeId, key: NodeId, value: NodeId) {
        self.append_child(mapping, key);
        self.append_child(mapping, value);
        self.changed = true;
    }

    /// Replaces `old` among the children of `parent` by `new`; returns false if `old` is not among them.
    pub fn replace_child(&mut self, parent: NodeId, old: NodeId, new: NodeId) -> bool {
        let mut children = self.child_ids(parent);
        let Some(place) = children.iter().position(|child| *child == old) else {
            return false;
        };
        children[place] = new;
        self.set_children(parent, &children);
        true
    }

    /// The ids of a node's children; a mapping's alternate key, value.
    pub fn child_ids(&self, parent: NodeId) -> Vec<NodeId> {
        self.node(parent).children().map(|child| child.id).collect()
    }

    /// Makes `children` the children of a collection, in this order.
    pub fn set_children(&mut self, parent: NodeId, children: &[NodeId]) {
        match &mut self.node_data_mut(parent).content {
            NodeContent::Mapping { first, last } | NodeContent::Sequence { first, last } => {
                *first = children.first().copied().unwrap_or(NodeId::NIL);
                *last = children.last().copied().unwrap_or(NodeId::NIL);
            }
            NodeContent::Scalar(_) | NodeContent::Alias(_) => return,
        }
        for pair in children.windows(2) {
            self.nodes[pair[0].index()].next = pair[1];
        }
        if let Some(last) = children.last() {
            self.nodes[last.index()].next = NodeId::NIL;
        }
    }

    // ---- storage ---------------------------------------------------------------------------------------

    /// Adds a node even when the allowance is exceeded: an id must always be that of a node of its own, or else trees
    /// could become cycles.
    pub(crate) fn add(&mut self, node: NodeData) -> NodeId {
        self.charge.take(size_of::<NodeData>());
        self.add_uncharged(node)
    }

    /// The same for a caller that charges for all its nodes at once.
    #[inline]
    pub(crate) fn add_uncharged(&mut self, node: NodeData) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        if self.nodes.len() == self.nodes.capacity() {
            // Most documents get only a few more nodes after they were read; doubling would waste memory.
            self.nodes.reserve_exact((self.nodes.len() / 4).max(16));
        }
        self.nodes.push(node);
        id
    }

    pub(crate) fn append_child(&mut self, parent: NodeId, child: NodeId) {
        let previous = match &mut self.nodes[parent.index()].content {
            NodeContent::Mapping { first, last } | NodeContent::Sequence { first, last } => {
                let previous = *last;
                *last = child;
                if previous == NodeId::NIL {
                    *first = child;
                }
                previous
            }
            NodeContent::Scalar(_) | NodeContent::Alias(_) => return,
        };
        if let Some(previous) = previous.get() {
            self.nodes[previous.index()].next = child;
        }
        self.nodes[child.index()].next = NodeId::NIL;
    }

    pub(crate) fn node_data(&self, id: NodeId) -> &NodeData {
        &self.nodes[id.index()]
    }

    /// Marks the document as changed.
    pub(crate) fn node_data_mut(&mut self, id: NodeId) -> &mut NodeData {
        self.changed = true;
        &mut self.nodes[id.index()]
    }

    pub(crate) fn extra_mut(&mut self, id: NodeId) -> &mut Extra {
        let node = &mut self.nodes[id.index()];
        if node.extra == NodeData::NO_EXTRA {
            self.charge.take(size_of::<Extra>());
            node.extra = self.extras.len() as u32;
            self.extras.push(Extra::default());
        }
        &mut self.extras[node.extra as usize]
    }

    pub(crate) fn text(&self, text: Text) -> &str {
        if text.in_pool() {
            &self.pool[text.range()]
        } else {
            &self.source[text.range()]
        }
    }

    /// The same without the check that characters are whole.
    pub(crate) fn text_bytes(&self, text: Text) -> &[u8] {
        match text.in_pool() {
            true => &self.pool.as_bytes()[text.range()],
            false => &self.source.as_bytes()[text.range()],
        }
    }

    pub(crate) fn intern(&mut self, text: &str) -> Text {
        if text.is_empty() || !self.charge.take(text.len()) {
            return Text::EMPTY;
        }
        let start = self.pool.len();
        self.pool.push_str(text);
        Text::pool(start, self.pool.len())
    }

    /// The table entry of a tag in short (`!!str`) or long (`tag:yaml.org,2002:str`) form.
    pub(crate) fn intern_tag(&mut self, tag: &str) -> Tag {
        if tag.is_empty() {
            return Tag::Implicit;
        }
        let short: Cow<'_, str> = match tag.strip_prefix("tag:yaml.org,2002:") {
            Some(rest) => format!("!!{rest}").into(),
            None => tag.into(),
        };
        if let Some(known) = KnownTag::from_short(&short) {
            return Tag::Known(known);
        }
        if !self.charge.take(short.len()) {
            return Tag::Implicit;
        }
        // Parsing refuses a document with too many tags, so that only edits by the million could meet the limit.
        let number = self.tags.number_of(short.into());
        number.map_or(Tag::Implicit, Tag::Custom)
    }

    pub(crate) fn tag_text(&self, tag: Tag) -> &str {
        match tag {
            Tag::Implicit => "",
            Tag::Known(known) => known.as_str(),
            Tag::Custom(index) => self.tags.name(index),
        }
    }

    pub(crate) fn line_index(&self) -> &LineIndex {
        self.lines.get_or_init(|| LineIndex::new(&self.source))
    }
}
