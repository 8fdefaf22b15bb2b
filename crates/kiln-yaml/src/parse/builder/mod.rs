//! Tokens to tree: the grammar, with an explicit stack of open collections, and which node gets which comment.
//!
//! Comments that were handed over wait in three slots until a node takes them. Scalars, aliases, both ends of flow
//! collections and the end of block mappings do; other places leave them for whatever comes next.

mod collections;
mod nodes;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::scanner::Scanner;
use super::token::{
    Lines, Mark, Piece, ScanFailure, ScanResult, Stage, TagParts, TokenKind, YamlToken,
};
use crate::document::{Document, Slot};
use crate::node::{NodeId, Text};

/// Builds the documents of one stream.
pub(super) struct Builder<'t> {
    scanner: Scanner<'t>,
    source: Arc<str>,
    doc: Document,
    open: Vec<OpenCollection>,
    head: Lines,
    line: Lines,
    foot: Lines,
    /// The part of a head comment that is about the collection in a list item, not about its first child.
    stem: Piece,
    /// Anchors stay known for the rest of the stream.
    anchors: HashSet<Box<str>>,
    tag_directives: HashMap<Box<str>, Box<str>>,
    is_first: bool,
    /// Where the document before this one ended.
    documents_end: usize,
    /// A problem met while looking behind a `-`. Go first finishes the item, where it may meet another one.
    postponed: Option<Box<ScanFailure>>,
}

/// A collection that is being filled.
struct OpenCollection {
    node: NodeId,
    kind: OpenKind,
    /// Where it began, for messages.
    start: Mark,
    /// The key whose value is awaited.
    key: Option<NodeId>,
    /// The key before that one.
    previous_key: Option<NodeId>,
    /// A flow mapping's key that was not announced has no value, whatever follows.
    key_is_announced: bool,
    is_first: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OpenKind {
    BlockSequence,
    IndentlessSequence,
    BlockMapping,
    FlowSequence,
    FlowMapping,
    /// `[a: b]`: a mapping of one pair without braces.
    FlowPair,
}

/// Which node properties and collections may begin.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AllowedNode {
    Block,
    BlockOrIndentlessSequence,
    Flow,
}

#[derive(Default)]
struct Comments {
    head: Option<Piece>,
    line: Option<Piece>,
    foot: Option<Piece>,
}

#[derive(Default)]
struct Properties {
    anchor: Option<Piece>,
    tag: Option<String>,
}

impl<'t> Builder<'t> {
    pub(super) fn new(text: &'t str, source: Arc<str>) -> Builder<'t> {
        Builder {
            scanner: Scanner::new(text),
            doc: {
                let mut doc = Document::with_source(source.clone());
                // A node takes about a dozen bytes of ordinary YAML: mostly one allocation, never a wasteful one.
                doc.nodes.reserve(text.len() / 12);
                doc
            },
            source,
            open: Vec::with_capacity(16),
            head: Lines::default(),
            line: Lines::default(),
            foot: Lines::default(),
            stem: Piece::EMPTY,
            anchors: HashSet::new(),
            tag_directives: HashMap::new(),
            is_first: true,
            documents_end: 0,
            postponed: None,
        }
    }

    /// How far the text has been looked at.
    pub(super) fn position(&self) -> usize {
        self.scanner.at
    }

    /// The next document, or none at the end of the stream.
    pub(super) fn document(&mut self) -> ScanResult<Option<Document>> {
        if self.peek()?.kind == TokenKind::StreamStart {
            self.skip()?;
        }
        let Some(explicit) = self.start_document()? else {
            return Ok(None);
        };
        self.is_first = false;
        let content = explicit && {
            let mark = self.peek()?.start;
            match self.peek()?.kind {
                TokenKind::VersionDirective { .. }
                | TokenKind::TagDirective(_)
                | TokenKind::DocumentStart
                | TokenKind::DocumentEnd
                | TokenKind::StreamEnd => {
                    let empty = self.add_empty(Properties::default(), mark, mark);
                    self.attach(empty)?;
                    false
                }
                _ => true,
            }
        };
        if content || !explicit {
            self.node(AllowedNode::Block)?;
            while !self.open.is_empty() {
                self.step()?;
            }
        }
        self.end_document()?;
        self.doc.span = self.documents_end..self.doc.span.end;
        self.documents_end = self.doc.span.end;
        self.doc.charge.take(self.doc.span.len());
        if self.doc.nodes.len() < self.doc.nodes.capacity() / 4 {
            // A long text in few nodes.
            self.doc.nodes.shrink_to_fit();
        }
        let next = Document::with_source(self.source.clone());
        Ok(Some(std::mem::replace(&mut self.doc, next)))
    }

    // ---- tokens and comments ---------------------------------------------------------------------------

    /// The next token; the comments up to it move into the slots.
    #[inline]
    fn peek(&mut self) -> ScanResult<&YamlToken> {
        self.scanner.fill()?;
        if !self.scanner.comments.is_empty() {
            self.hand_over_comments();
        }
        Ok(&self.scanner.tokens[0])
    }

    fn hand_over_comments(&mut self) {
        let token = &self.scanner.tokens[0];
        while let Some(comment) = self.scanner.comments.front() {
            if (token.reach as usize) < comment.anchor {
                break;
            }
            // A block's end has no head: it waits for the next real token.
            if comment.slot == Slot::Head && token.kind == TokenKind::BlockEnd {
                break;
            }
            let slot = match comment.slot {
                Slot::Head => &mut self.head,
                Slot::Line => &mut self.line,
                Slot::Foot => &mut self.foot,
            };
            let Some(comment) = self.scanner.comments.pop_front() else {
                break;
            };
            slot.push(&comment.text, self.scanner.text);
        }
    }

    fn skip(&mut self) -> ScanResult<()> {
        self.scanner.fill()?;
        self.scanner.take();
        Ok(())
    }

    fn take_comments(&mut self) -> Comments {
        self.stem = Piece::EMPTY;
        let take = |lines: &mut Lines| (!lines.is_empty()).then(|| lines.take());
        Comments {
            head: take(&mut self.head),
            line: take(&mut self.line),
            foot: take(&mut self.foot),
        }
    }

    fn text_of(&mut self, piece: Piece) -> Text {
        match piece {
            Piece::Span(start, end) => Text::source(start as usize, end as usize),
            Piece::Owned(text) => self.doc.intern(&text),
        }
    }

    fn set_comments(&mut self, node: NodeId, comments: Comments) {
        if let Some(head) = comments.head {
            let text = self.text_of(head);
            self.doc.extra_mut(node).head = text;
        }
        if let Some(line) = comments.line {
            let text = self.text_of(line);
            self.doc.extra_mut(node).line = text;
        }
        if let Some(foot) = comments.foot {
            let text = self.text_of(foot);
            self.doc.extra_mut(node).foot = text;
        }
    }

    fn fail<T>(&self, context: Option<Mark>, message: &str, problem: Mark) -> ScanResult<T> {
        Err(Box::new(ScanFailure {
            message: message.to_owned(),
            context,
            problem,
            stage: Stage::Grammar,
        }))
    }

    // ---- documents -------------------------------------------------------------------------------------

    /// Reads up to the document's content; returns whether it began with `---`, `None` at the end of the stream.
    fn start_document(&mut self) -> ScanResult<Option<bool>> {
        if !self.is_first {
            while self.peek()?.kind == TokenKind::DocumentEnd {
                self.skip()?;
            }
        }
        let start = self.peek()?.start;
        self.doc.begin = start.index;
        let is_first = self.is_first;
        match self.peek()?.kind {
            TokenKind::StreamEnd => return Ok(None),
            TokenKind::VersionDirective { .. }
            | TokenKind::TagDirective(_)
            | TokenKind::DocumentStart => {}
            _ if is_first => {
                self.tag_directives.clear();
                self.split_document_head();
                return Ok(Some(false));
            }
            _ => {}
        }
        self.directives()?;
        let token = self.peek()?;
        if token.kind != TokenKind::DocumentStart {
            let problem = token.start;
            return self.fail(None, "did not find expected <document start>", problem);
        }
        self.skip()?;
        Ok(Some(true))
    }

    fn directives(&mut self) -> ScanResult<()> {
        self.tag_directives.clear();
        let mut version_seen = false;
        loop {
            let token = self.peek()?.clone();
            match token.kind {
                TokenKind::VersionDirective { major, minor } => {
                    if version_seen {
                        return self.fail(None, "found duplicate %YAML directive", token.start);
                    }
                    if (major, minor) != (1, 1) {
                        return self.fail(None, "found incompatible YAML document", token.start);
                    }
                    version_seen = true;
                }
                TokenKind::TagDirective(parts) => {
                    let TagParts {
                        handle,
                        rest: prefix,
                    } = *parts;
                    if self.tag_directives.insert(handle, prefix).is_some() {
                        return self.fail(None, "found duplicate %TAG directive", token.start);
                    }
                }
                _ => return Ok(()),
            }
            self.skip()?;
        }
    }

    fn split_document_head(&mut self) {
        let head = self.head.as_str(self.scanner.text);
        if let Some((upper, lower)) = split_document_head(head) {
            self.doc.head = self.doc.intern(&upper);
            self.head = lower.into();
        }
    }

    fn end_document(&mut self) -> ScanResult<()> {
        let token = self.peek()?;
        let explicit = token.kind == TokenKind::DocumentEnd;
        self.doc.span.end = self.peek()?.start.index;
        if explicit {
            self.skip()?;
        }
        let comments = self.take_comments();
        if let Some(foot) = comments.foot.or(comments.head) {
            self.doc.foot = self.text_of(foot);
        }
        Ok(())
    }
}

/// Splits the comment at the top: what stands above its last blank line is about the document, the rest about its first
/// entry. None if all of it is.
pub(super) fn split_document_head(head: &str) -> Option<(String, String)> {
    if let Some(all) = head.strip_suffix('\n').filter(|all| !all.is_empty()) {
        return Some((all.to_owned(), String::new()));
    }
    let at = head.rfind("\n\n")?;
    Some((head[..at].to_owned(), head[at + 2..].to_owned()))
}
