//! Tokens to tree: the grammar, with an explicit stack of open collections, and who takes which comment.
//!
//! Comments that were handed over wait in three slots until a node takes them. Scalars, aliases, both ends of flow
//! collections and the end of block mappings do; other places leave them for whatever comes next.

use std::collections::HashSet;
use std::sync::Arc;

use super::scanner::Scanner;
use super::token::{Failure, Mark, Piece, Scan, Stage, TagParts, Token, TokenKind};
use crate::document::{Document, Slot};
use crate::node::{Content, KnownTag, Node, NodeId, Style, Tag, Text};

const YAML_TAGS: &str = "tag:yaml.org,2002:";

/// Builds the documents of one stream.
pub(super) struct Builder<'t> {
    scanner: Scanner<'t>,
    source: Arc<str>,
    doc: Document,
    open: Vec<Open>,
    head: Piece,
    line: Piece,
    foot: Piece,
    /// The part of a head comment that is about the collection in a list item, not about its first child.
    stem: Piece,
    /// Anchors stay known for the rest of the stream.
    anchors: HashSet<Box<str>>,
    tag_directives: Vec<(Box<str>, Box<str>)>,
    is_first: bool,
    /// Where the document before this one ended.
    documents_end: usize,
    /// A problem met while looking behind a `-`. Go first finishes the item, where it may meet another one.
    postponed: Option<Box<Failure>>,
}

/// A collection that is being filled.
struct Open {
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
enum Allowed {
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
            open: Vec::new(),
            head: Piece::EMPTY,
            line: Piece::EMPTY,
            foot: Piece::EMPTY,
            stem: Piece::EMPTY,
            anchors: HashSet::new(),
            tag_directives: Vec::new(),
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
    pub(super) fn document(&mut self) -> Scan<Option<Document>> {
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
            self.node(Allowed::Block)?;
            while !self.open.is_empty() {
                self.step()?;
            }
        }
        self.end_document()?;
        self.doc.span = self.documents_end..self.doc.span.end;
        self.documents_end = self.doc.span.end;
        let next = Document::with_source(self.source.clone());
        Ok(Some(std::mem::replace(&mut self.doc, next)))
    }

    // ---- tokens and comments ---------------------------------------------------------------------------

    /// The next token; the comments up to it move into the slots.
    fn peek(&mut self) -> Scan<&Token> {
        self.scanner.fill()?;
        if self.scanner.comments.is_empty() {
            return Ok(&self.scanner.tokens[0]);
        }
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
            if slot.is_empty() {
                *slot = comment.text;
            } else {
                let text = self.scanner.text;
                let joined = format!("{}\n{}", slot.as_str(text), comment.text.as_str(text));
                *slot = Piece::Owned(joined.into_boxed_str());
            }
        }
        Ok(&self.scanner.tokens[0])
    }

    fn skip(&mut self) -> Scan<()> {
        self.scanner.fill()?;
        self.scanner.take();
        Ok(())
    }

    fn take_comments(&mut self) -> Comments {
        self.stem = Piece::EMPTY;
        let take = |piece: &mut Piece| {
            let piece = std::mem::replace(piece, Piece::EMPTY);
            (!piece.is_empty()).then_some(piece)
        };
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

    fn fail<T>(&self, context: Option<Mark>, message: &str, problem: Mark) -> Scan<T> {
        Err(Box::new(Failure {
            message: message.to_owned(),
            context,
            problem,
            stage: Stage::Grammar,
        }))
    }

    // ---- documents -------------------------------------------------------------------------------------

    /// Reads up to the document's content; tells whether it began with `---`, none at the end of the stream.
    fn start_document(&mut self) -> Scan<Option<bool>> {
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

    fn directives(&mut self) -> Scan<()> {
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
                    if self
                        .tag_directives
                        .iter()
                        .any(|(known, _)| *known == handle)
                    {
                        return self.fail(None, "found duplicate %TAG directive", token.start);
                    }
                    self.tag_directives.push((handle, prefix));
                }
                _ => return Ok(()),
            }
            self.skip()?;
        }
    }

    /// Gives what stands above the last blank line of the head comment to the document.
    fn split_document_head(&mut self) {
        let head = self.head.as_str(self.scanner.text);
        if head.is_empty() {
            return;
        }
        let (upper, lower) =
            if let Some(all) = head.strip_suffix('\n').filter(|all| !all.is_empty()) {
                (all.to_owned(), String::new())
            } else if let Some(at) = head.rfind("\n\n") {
                (head[..at].to_owned(), head[at + 2..].to_owned())
            } else {
                return;
            };
        self.doc.head = self.doc.intern(&upper);
        self.head = Piece::Owned(lower.into_boxed_str());
    }

    fn end_document(&mut self) -> Scan<()> {
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

    // ---- nodes -----------------------------------------------------------------------------------------

    /// Reads a scalar or an alias, or opens a collection.
    fn node(&mut self, allowed: Allowed) -> Scan<()> {
        if let TokenKind::Alias(_) = self.peek()?.kind {
            return self.alias();
        }
        let (properties, start, end) = self.properties()?;
        let in_block = allowed != Allowed::Flow;
        let token = self.peek()?;
        let start = start.unwrap_or(token.start);
        let problem = token.start;
        match &token.kind {
            TokenKind::BlockEntry if allowed == Allowed::BlockOrIndentlessSequence => {
                self.open(
                    OpenKind::IndentlessSequence,
                    properties,
                    (start, problem),
                    Comments::default(),
                );
            }
            TokenKind::Scalar { .. } => return self.scalar(properties, start),
            TokenKind::FlowSequenceStart | TokenKind::FlowMappingStart => {
                let kind = match token.kind {
                    TokenKind::FlowSequenceStart => OpenKind::FlowSequence,
                    _ => OpenKind::FlowMapping,
                };
                // What else stands behind the bracket is lost.
                let comments = Comments {
                    head: self.take_comments().head,
                    ..Comments::default()
                };
                self.open(kind, properties, (start, problem), comments);
                self.skip()?;
            }
            TokenKind::BlockSequenceStart | TokenKind::BlockMappingStart if in_block => {
                let kind = match token.kind {
                    TokenKind::BlockSequenceStart => OpenKind::BlockSequence,
                    _ => OpenKind::BlockMapping,
                };
                let stem = std::mem::replace(&mut self.stem, Piece::EMPTY);
                let comments = Comments {
                    head: (!stem.is_empty()).then_some(stem),
                    ..Comments::default()
                };
                self.open(kind, properties, (start, problem), comments);
                self.skip()?;
            }
            _ if properties.anchor.is_some() || properties.tag.is_some() => {
                let empty = self.add_empty(properties, start, end.unwrap_or(start));
                return self.attach(empty);
            }
            _ => {
                return self.fail(Some(start), "did not find expected node content", problem);
            }
        }
        Ok(())
    }

    fn alias(&mut self) -> Scan<()> {
        self.peek()?;
        let comments = self.take_comments();
        let Some(Token {
            kind: TokenKind::Alias(name),
            start,
            end,
            ..
        }) = self.scanner.take()
        else {
            return Ok(());
        };
        let text = self.text_of(name.clone());
        if !self.anchors.contains(name.as_str(self.scanner.text)) {
            let name = name.as_str(self.scanner.text);
            return Err(Box::new(Failure {
                message: format!("unknown anchor '{name}' referenced"),
                context: None,
                problem: start,
                stage: Stage::Tree,
            }));
        }
        let node = self.add(Content::Alias(text), Tag::Implicit, Style::NONE, start, end);
        self.set_comments(node, comments);
        self.attach(node)
    }

    /// Reads an anchor and a tag in any order, with where they begin and end.
    fn properties(&mut self) -> Scan<(Properties, Option<Mark>, Option<Mark>)> {
        let mut properties = Properties::default();
        let mut start = None;
        let mut end = None;
        let mut tag_at = None;
        let mut tag_parts = None;
        loop {
            match &self.peek()?.kind {
                TokenKind::Anchor(_) if properties.anchor.is_none() => {}
                TokenKind::Tag(_) if tag_parts.is_none() => {}
                _ => break,
            }
            let Some(token) = self.scanner.take() else {
                break;
            };
            start.get_or_insert(token.start);
            end = Some(token.end);
            match token.kind {
                TokenKind::Anchor(name) => properties.anchor = Some(name),
                TokenKind::Tag(parts) => {
                    tag_at = Some(token.start);
                    tag_parts = Some(parts);
                }
                _ => {}
            }
        }
        if let Some(parts) = tag_parts {
            let Some(tag) = self.expand_tag(&parts.handle, &parts.rest) else {
                return self.fail(
                    start,
                    "found undefined tag handle",
                    tag_at.unwrap_or_default(),
                );
            };
            properties.tag = Some(tag);
        }
        Ok((properties, start, end))
    }

    fn expand_tag(&self, handle: &str, suffix: &str) -> Option<String> {
        if handle.is_empty() {
            return Some(suffix.to_owned());
        }
        let declared = self
            .tag_directives
            .iter()
            .find(|(known, _)| **known == *handle);
        let prefix = match (declared, handle) {
            (Some((_, prefix)), _) => prefix,
            (None, "!") => "!",
            (None, "!!") => YAML_TAGS,
            (None, _) => return None,
        };
        Some(format!("{prefix}{suffix}"))
    }

    fn scalar(&mut self, properties: Properties, start: Mark) -> Scan<()> {
        let comments = self.take_comments();
        let Some(Token {
            kind: TokenKind::Scalar { text, style },
            end,
            ..
        }) = self.scanner.take()
        else {
            return Ok(());
        };
        let default = if style != Style::NONE {
            Tag::Known(KnownTag::Str)
        } else if text.as_str(self.scanner.text) == "<<" {
            Tag::Known(KnownTag::Merge)
        } else {
            Tag::Implicit
        };
        let text = self.text_of(text);
        let node = self.add_with(
            Content::Scalar(text),
            default,
            style,
            properties,
            start,
            end,
        );
        self.set_comments(node, comments);
        self.attach(node)
    }

    /// A null that stands for nothing at all.
    fn add_empty(&mut self, properties: Properties, start: Mark, end: Mark) -> NodeId {
        self.add_with(
            Content::Scalar(Text::EMPTY),
            Tag::Implicit,
            Style::NONE,
            properties,
            start,
            end,
        )
    }

    fn add_with(
        &mut self,
        content: Content,
        default_tag: Tag,
        style: Style,
        properties: Properties,
        start: Mark,
        end: Mark,
    ) -> NodeId {
        let (tag, style) = match properties.tag.as_deref() {
            None | Some("" | "!") => (default_tag, style),
            Some(tag) => (self.doc.intern_tag(tag), style.with(Style::TAGGED)),
        };
        let node = self.add(content, tag, style, start, end);
        if let Some(anchor) = properties.anchor {
            self.anchors.insert(anchor.as_str(self.scanner.text).into());
            let text = self.text_of(anchor);
            self.doc.extra_mut(node).anchor = text;
        }
        node
    }

    fn add(&mut self, content: Content, tag: Tag, style: Style, start: Mark, end: Mark) -> NodeId {
        let mut node = Node::new(content, tag, style);
        node.start = start.index as u32;
        node.end = end.index.max(start.index) as u32;
        if start.column == 0 && self.scanner.is_after_last_line(start) {
            // On a line of its own behind a last line that has no break.
            (node.start, node.end) = (node.start + 1, node.end + 1);
        }
        self.doc.add(node)
    }

    /// Opens a collection that begins at `start` with its properties; its own token stands at `context`.
    fn open(
        &mut self,
        kind: OpenKind,
        properties: Properties,
        (start, context): (Mark, Mark),
        comments: Comments,
    ) {
        let (content, tag) = match kind {
            OpenKind::BlockSequence | OpenKind::IndentlessSequence | OpenKind::FlowSequence => {
                (Content::SEQUENCE, KnownTag::Seq)
            }
            _ => (Content::MAPPING, KnownTag::Map),
        };
        let style = match kind {
            OpenKind::FlowSequence | OpenKind::FlowMapping | OpenKind::FlowPair => Style::FLOW,
            _ => Style::NONE,
        };
        let node = self.add_with(content, Tag::Known(tag), style, properties, start, start);
        self.set_comments(node, comments);
        self.open.push(Open {
            node,
            kind,
            start: context,
            key: None,
            previous_key: None,
            key_is_announced: false,
            is_first: true,
        });
    }

    /// Makes a finished node a child of the open collection, or the root.
    fn attach(&mut self, node: NodeId) -> Scan<()> {
        let Some(open) = self.open.last_mut() else {
            self.doc.root = node;
            return Ok(());
        };
        self.doc.append_child(open.node, node);
        if matches!(
            open.kind,
            OpenKind::BlockSequence | OpenKind::IndentlessSequence | OpenKind::FlowSequence
        ) {
            return Ok(());
        }
        match open.key.take() {
            None => {
                open.key = Some(node);
                // A foot on a key is about the pair before it.
                if open.kind == OpenKind::BlockMapping
                    && let Some(previous) = open.previous_key
                {
                    move_foot(&mut self.doc, node, previous, Overwrite::Yes);
                }
            }
            Some(key) => {
                move_foot(&mut self.doc, node, key, Overwrite::No);
                open.previous_key = Some(key);
            }
        }
        Ok(())
    }

    /// Ends the open collection. Its line and foot comments are those found at its end.
    fn close(&mut self, comments: Comments, end: Option<Mark>) -> Scan<()> {
        let Some(open) = self.open.pop() else {
            return Ok(());
        };
        let end = match (end, self.doc.record(open.node).content) {
            (Some(mark), _) => mark.index as u32,
            (None, Content::Mapping { last, .. } | Content::Sequence { last, .. }) => {
                last.get().map_or(0, |last| self.doc.record(last).end)
            }
            (None, _) => 0,
        };
        let record = &mut self.doc.nodes[open.node.index()];
        record.end = record.end.max(end);
        self.set_comments(
            open.node,
            Comments {
                head: None,
                ..comments
            },
        );
        if open.kind == OpenKind::BlockMapping
            && let Some(last_key) = open.previous_key
        {
            move_foot(&mut self.doc, open.node, last_key, Overwrite::Yes);
        }
        self.attach(open.node)
    }

    // ---- collections -----------------------------------------------------------------------------------

    /// Reads the next part of the innermost open collection.
    fn step(&mut self) -> Scan<()> {
        if let Some(failure) = self.postponed.take() {
            return Err(failure);
        }
        let Some(open) = self.open.last_mut() else {
            return Ok(());
        };
        let first = std::mem::replace(&mut open.is_first, false);
        let awaits_value = open.key.is_some();
        match (open.kind, awaits_value) {
            (OpenKind::BlockSequence, _) => self.block_sequence_item(),
            (OpenKind::IndentlessSequence, _) => self.indentless_sequence_item(),
            (OpenKind::BlockMapping, false) => self.block_mapping_key(),
            (OpenKind::BlockMapping, true) => self.block_mapping_value(),
            (OpenKind::FlowSequence, _) => self.flow_sequence_item(first),
            (OpenKind::FlowMapping, false) => self.flow_mapping_key(first),
            (OpenKind::FlowMapping, true) => self.flow_mapping_value(),
            (OpenKind::FlowPair, false) => self.flow_pair_key_or_end(first),
            (OpenKind::FlowPair, true) => self.flow_pair_value(),
        }
    }

    fn context(&self) -> Option<Mark> {
        self.open.last().map(|open| open.start)
    }

    fn empty_at(&mut self, mark: Mark) -> Scan<()> {
        let empty = self.add_empty(Properties::default(), mark, mark);
        self.attach(empty)
    }

    /// Moves past a `-`, keeping apart what was said above it about the item as a whole.
    fn skip_entry(&mut self) -> Scan<Mark> {
        let mark = self.peek()?.end;
        let stem_length = self.head.as_str(self.scanner.text).len();
        self.skip()?;
        if stem_length == 0 {
            return Ok(mark);
        }
        let token = match self.peek() {
            Ok(token) => token,
            Err(failure) => {
                self.postponed = Some(failure);
                return Ok(mark);
            }
        };
        if matches!(
            token.kind,
            TokenKind::BlockSequenceStart | TokenKind::BlockMappingStart
        ) {
            let head = self.head.as_str(self.scanner.text);
            let rest = head.get(stem_length + 1..).unwrap_or_default().to_owned();
            let stem = head[..stem_length].to_owned();
            self.stem = Piece::Owned(stem.into_boxed_str());
            self.head = Piece::Owned(rest.into_boxed_str());
        }
        Ok(mark)
    }

    fn block_sequence_item(&mut self) -> Scan<()> {
        let token = self.peek()?;
        let start = token.start;
        match token.kind {
            TokenKind::BlockEntry => {
                let mark = self.skip_entry()?;
                match self.peek()?.kind {
                    TokenKind::BlockEntry | TokenKind::BlockEnd => self.empty_at(mark),
                    _ => self.node(Allowed::Block),
                }
            }
            TokenKind::BlockEnd => {
                self.skip()?;
                self.close(Comments::default(), None)
            }
            _ => self.fail(self.context(), "did not find expected '-' indicator", start),
        }
    }

    fn indentless_sequence_item(&mut self) -> Scan<()> {
        if self.peek()?.kind != TokenKind::BlockEntry {
            return self.close(Comments::default(), None);
        }
        let mark = self.skip_entry()?;
        match self.peek()?.kind {
            TokenKind::BlockEntry | TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => {
                self.empty_at(mark)
            }
            _ => self.node(Allowed::Block),
        }
    }

    fn block_mapping_key(&mut self) -> Scan<()> {
        let token = self.peek()?;
        let (start, end) = (token.start, token.end);
        match token.kind {
            TokenKind::Key => {
                self.skip()?;
                match self.peek()?.kind {
                    TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => self.empty_at(end),
                    _ => self.node(Allowed::BlockOrIndentlessSequence),
                }
            }
            TokenKind::BlockEnd => {
                let comments = self.take_comments();
                self.skip()?;
                self.close(comments, None)
            }
            _ => self.fail(self.context(), "did not find expected key", start),
        }
    }

    fn block_mapping_value(&mut self) -> Scan<()> {
        let token = self.peek()?;
        let (start, end) = (token.start, token.end);
        if token.kind != TokenKind::Value {
            return self.empty_at(start);
        }
        self.skip()?;
        match self.peek()?.kind {
            TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => self.empty_at(end),
            _ => self.node(Allowed::BlockOrIndentlessSequence),
        }
    }

    fn flow_sequence_item(&mut self, first: bool) -> Scan<()> {
        if self.peek()?.kind != TokenKind::FlowSequenceEnd {
            if !first {
                self.expect_flow_entry("did not find expected ',' or ']'")?;
            }
            let token = self.peek()?;
            let start = token.start;
            match token.kind {
                TokenKind::Key => {
                    self.open(
                        OpenKind::FlowPair,
                        Properties::default(),
                        (start, start),
                        Comments::default(),
                    );
                    return self.skip();
                }
                TokenKind::FlowSequenceEnd => {}
                _ => return self.node(Allowed::Flow),
            }
        }
        self.close_flow()
    }

    fn close_flow(&mut self) -> Scan<()> {
        let end = self.peek()?.end;
        let comments = self.take_comments();
        self.skip()?;
        self.close(comments, Some(end))
    }

    fn expect_flow_entry(&mut self, message: &str) -> Scan<()> {
        let token = self.peek()?;
        if token.kind != TokenKind::FlowEntry {
            let problem = token.start;
            return self.fail(self.context(), message, problem);
        }
        self.skip()
    }

    fn flow_pair_key_or_end(&mut self, first: bool) -> Scan<()> {
        let token = self.peek()?;
        let end = token.end;
        if !first {
            return self.close(Comments::default(), None);
        }
        match token.kind {
            TokenKind::Value | TokenKind::FlowEntry | TokenKind::FlowSequenceEnd => {
                // go-yaml passes over the `:` here, so that its value is not found; so do we.
                self.skip()?;
                self.empty_at(end)
            }
            _ => self.node(Allowed::Flow),
        }
    }

    fn flow_pair_value(&mut self) -> Scan<()> {
        let mark = self.peek()?.start;
        if self.peek()?.kind == TokenKind::Value {
            self.skip()?;
            match self.peek()?.kind {
                TokenKind::FlowEntry | TokenKind::FlowSequenceEnd => {}
                _ => return self.node(Allowed::Flow),
            }
        }
        self.empty_at(mark)
    }

    fn flow_mapping_key(&mut self, first: bool) -> Scan<()> {
        if self.peek()?.kind != TokenKind::FlowMappingEnd {
            if !first {
                self.expect_flow_entry("did not find expected ',' or '}'")?;
            }
            let announced = self.peek()?.kind == TokenKind::Key;
            if let Some(open) = self.open.last_mut() {
                open.key_is_announced = announced;
            }
            match self.peek()?.kind {
                TokenKind::Key => {
                    self.skip()?;
                    let token = self.peek()?;
                    let start = token.start;
                    return match token.kind {
                        TokenKind::Value | TokenKind::FlowEntry | TokenKind::FlowMappingEnd => {
                            self.empty_at(start)
                        }
                        _ => self.node(Allowed::Flow),
                    };
                }
                TokenKind::FlowMappingEnd => {}
                _ => return self.node(Allowed::Flow),
            }
        }
        self.close_flow()
    }

    fn flow_mapping_value(&mut self) -> Scan<()> {
        let announced = self.open.last().is_some_and(|open| open.key_is_announced);
        if announced && self.peek()?.kind == TokenKind::Value {
            self.skip()?;
            match self.peek()?.kind {
                TokenKind::FlowEntry | TokenKind::FlowMappingEnd => {}
                _ => return self.node(Allowed::Flow),
            }
        }
        let mark = self.peek()?.start;
        self.empty_at(mark)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Overwrite {
    Yes,
    No,
}

/// Moves a foot comment to another node; with `Overwrite::No` only if that one has none.
fn move_foot(doc: &mut Document, from: NodeId, to: NodeId, overwrite: Overwrite) {
    let extra = doc.nodes[from.index()].extra;
    if extra == Node::NO_EXTRA {
        return;
    }
    let foot = doc.extras[extra as usize].foot;
    if foot.is_empty() {
        return;
    }
    let target = doc.extra_mut(to);
    if overwrite == Overwrite::No && !target.foot.is_empty() {
        return;
    }
    target.foot = foot;
    doc.extras[extra as usize].foot = Text::EMPTY;
}
