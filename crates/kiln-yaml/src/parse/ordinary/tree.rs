//! What becomes of what was read: a document, or nothing.

use std::sync::Arc;

use super::CollectionKind;
use crate::document::Document;
use crate::node::{KnownTag, NodeContent, NodeData, NodeId, Style, Tag, Text};
use crate::parse::token::Piece;

/// A tree that grows in the order of the text.
pub(super) trait TreeBuilder {
    /// Notes where the document begins, if not with its first node.
    fn begin(&mut self, at: usize);

    /// Notes a comment that is about the document as a whole.
    fn document_head(&mut self, comment: &str);

    /// Begins a collection in the open one.
    fn open(&mut self, kind: CollectionKind, style: Style, at: usize, head: Option<Piece>);

    /// Ends the open collection: at an offset, or where its last child does.
    fn close(&mut self, end: Option<usize>, line: Option<Piece>);

    /// Adds a scalar to the open collection.
    fn scalar(
        &mut self,
        text: Piece,
        style: Style,
        place: (usize, usize),
        head: Option<Piece>,
        line: Option<Piece>,
    );
}

/// Builds nothing, to find out whether a tree could be built.
impl TreeBuilder for () {
    fn begin(&mut self, _: usize) {}

    fn document_head(&mut self, _: &str) {}

    fn open(&mut self, _: CollectionKind, _: Style, _: usize, _: Option<Piece>) {}

    fn close(&mut self, _: Option<usize>, _: Option<Piece>) {}

    fn scalar(
        &mut self,
        _: Piece,
        _: Style,
        _: (usize, usize),
        _: Option<Piece>,
        _: Option<Piece>,
    ) {
    }
}

/// A document that is being filled.
pub(super) struct Arena {
    doc: Document,
    begin: Option<usize>,
    open: Vec<NodeId>,
}

impl Arena {
    pub(super) fn new(source: Arc<str>) -> Arena {
        let mut doc = Document::with_source(source);
        // A node takes about a dozen bytes of ordinary YAML: mostly one allocation, never a wasteful one.
        doc.nodes.reserve(doc.source.len() / 12);
        Arena {
            doc,
            begin: None,
            open: Vec::with_capacity(16),
        }
    }

    /// The document, whose text ends at `end`.
    pub(super) fn into_document(self, end: usize) -> Document {
        let mut doc = self.doc;
        doc.root = NodeId(0);
        let first = doc.nodes.first().map_or(0, |root| root.start as usize);
        doc.begin = self.begin.unwrap_or(first);
        doc.span = 0..end;
        doc.charge.take(end);
        if doc.nodes.len() < doc.nodes.capacity() / 4 {
            // A long text in few nodes.
            doc.nodes.shrink_to_fit();
        }
        doc
    }

    fn add(
        &mut self,
        content: NodeContent,
        tag: Tag,
        style: Style,
        place: (usize, usize),
    ) -> NodeId {
        let mut node = NodeData::new(content, tag, style);
        (node.start, node.end) = (place.0 as u32, place.1 as u32);
        let id = self.doc.add(node);
        if let Some(parent) = self.open.last() {
            self.doc.append_child(*parent, id);
        }
        id
    }

    fn text(&mut self, piece: &Piece) -> Text {
        match piece {
            Piece::Span(start, end) => Text::source(*start as usize, *end as usize),
            Piece::Owned(text) => self.doc.intern(text),
        }
    }

    fn set_head(&mut self, node: NodeId, head: Option<Piece>) {
        if let Some(head) = head {
            let text = self.text(&head);
            self.doc.extra_mut(node).head = text;
        }
    }

    fn set_line(&mut self, node: NodeId, line: Option<Piece>) {
        if let Some(line) = line {
            let text = self.text(&line);
            self.doc.extra_mut(node).line = text;
        }
    }
}

impl TreeBuilder for Arena {
    fn begin(&mut self, at: usize) {
        self.begin = Some(at);
    }

    fn document_head(&mut self, comment: &str) {
        self.doc.head = self.doc.intern(comment);
    }

    fn open(&mut self, kind: CollectionKind, style: Style, at: usize, head: Option<Piece>) {
        let (content, tag) = match kind {
            CollectionKind::Mapping => (NodeContent::MAPPING, KnownTag::Map),
            CollectionKind::Sequence => (NodeContent::SEQUENCE, KnownTag::Seq),
        };
        let node = self.add(content, Tag::Known(tag), style, (at, at));
        self.set_head(node, head);
        self.open.push(node);
    }

    fn close(&mut self, end: Option<usize>, line: Option<Piece>) {
        let Some(node) = self.open.pop() else {
            return;
        };
        let end = match (end, self.doc.node_data(node).content) {
            (Some(end), _) => end as u32,
            (None, NodeContent::Mapping { last, .. } | NodeContent::Sequence { last, .. }) => {
                last.get().map_or(0, |last| self.doc.node_data(last).end)
            }
            (None, _) => 0,
        };
        if let Some(record) = self.doc.nodes.get_mut(node.index()) {
            record.end = record.end.max(end);
        }
        self.set_line(node, line);
    }

    fn scalar(
        &mut self,
        text: Piece,
        style: Style,
        place: (usize, usize),
        head: Option<Piece>,
        line: Option<Piece>,
    ) {
        let tag = match style {
            Style::NONE => Tag::Implicit,
            _ => Tag::Known(KnownTag::Str),
        };
        let text = self.text(&text);
        let node = self.add(NodeContent::Scalar(text), tag, style, place);
        self.set_head(node, head);
        self.set_line(node, line);
    }
}
