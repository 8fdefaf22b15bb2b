//! What becomes of what was read: a document, or nothing.

use std::ops::Range;
use std::sync::Arc;

use memchr::memmem;

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

    /// Adds a plain scalar without comments, which is a part of the source, to the open collection.
    fn span(&mut self, place: (usize, usize));

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

    fn span(&mut self, _: (usize, usize)) {}

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
    open: Vec<PendingCollection>,
}

/// A collection that is being filled; its node gets its children when it is closed.
#[derive(Clone, Copy)]
struct PendingCollection {
    node: NodeId,
    first: NodeId,
    last: NodeId,
}

impl Arena {
    /// A tree for the document that begins at an offset.
    pub(super) fn new(source: &Arc<str>, start: usize) -> Arena {
        let mut doc = Document::with_source(source.clone());
        let rest = source.as_bytes().get(start + 1..).unwrap_or_default();
        let length = memmem::find(rest, b"\n---").unwrap_or(rest.len());
        // A node takes about a dozen bytes of ordinary YAML: mostly one allocation, never a wasteful one.
        doc.nodes.reserve(length / 12);
        Arena {
            doc,
            begin: None,
            open: Vec::with_capacity(16),
        }
    }

    /// The document, which was read from this part of the source.
    pub(super) fn into_document(self, span: Range<usize>) -> Document {
        let mut doc = self.doc;
        doc.root = NodeId(0);
        let first = doc.nodes.first().map_or(0, |root| root.start as usize);
        doc.begin = self.begin.unwrap_or(first);
        doc.charge
            .take(span.len() + size_of_val(doc.nodes.as_slice()));
        doc.span = span;
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
        let id = self.doc.add_uncharged(node);
        if let Some(parent) = self.open.last_mut() {
            let previous = std::mem::replace(&mut parent.last, id);
            match self.doc.nodes.get_mut(previous.index()) {
                Some(previous) => previous.next = id,
                None => parent.first = id,
            }
        }
        id
    }

    fn text(&mut self, piece: &Piece) -> Text {
        match piece {
            Piece::Span(start, end) => Text::source(*start as usize, *end as usize),
            Piece::Owned(text) => self.doc.intern(text),
        }
    }

    fn set_comments(&mut self, node: NodeId, head: Option<&Piece>, line: Option<&Piece>) {
        if let Some(head) = head {
            let text = self.text(head);
            self.doc.extra_mut(node).head = text;
        }
        if let Some(line) = line {
            let text = self.text(line);
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
        if head.is_some() {
            self.set_comments(node, head.as_ref(), None);
        }
        self.open.push(PendingCollection {
            node,
            first: NodeId::NIL,
            last: NodeId::NIL,
        });
    }

    fn close(&mut self, end: Option<usize>, line: Option<Piece>) {
        let Some(PendingCollection { node, first, last }) = self.open.pop() else {
            return;
        };
        let last_end = self.doc.nodes.get(last.index()).map_or(0, |last| last.end);
        let end = end.map_or(last_end, |end| end as u32);
        if let Some(record) = self.doc.nodes.get_mut(node.index()) {
            record.end = record.end.max(end);
            record.content = match record.content {
                NodeContent::Sequence { .. } => NodeContent::Sequence { first, last },
                _ => NodeContent::Mapping { first, last },
            };
        }
        if line.is_some() {
            self.set_comments(node, None, line.as_ref());
        }
    }

    #[inline]
    fn span(&mut self, place: (usize, usize)) {
        let text = NodeContent::Scalar(Text::source(place.0, place.1));
        self.add(text, Tag::Implicit, Style::NONE, place);
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
        if head.is_some() || line.is_some() {
            self.set_comments(node, head.as_ref(), line.as_ref());
        }
    }
}
