//! Single nodes: scalars, aliases, properties; opening, filling and closing collections.

use super::{AllowedNode, Builder, Comments, OpenCollection, OpenKind, Properties};
use crate::document::Document;
use crate::error::unknown_anchor;
use crate::node::{KnownTag, NodeContent, NodeData, NodeId, Style, Tag, Text};
use crate::parse::token::{Mark, Piece, ScanFailure, ScanResult, Stage, TokenKind, YamlToken};

const YAML_TAGS: &str = "tag:yaml.org,2002:";

impl Builder<'_> {
    /// Reads a scalar or an alias, or opens a collection.
    pub(super) fn node(&mut self, allowed: AllowedNode) -> ScanResult<()> {
        let token = self.peek()?;
        let start = token.start;
        match token.kind {
            // By far the most nodes.
            TokenKind::Scalar { .. } => return self.scalar(Properties::default(), start),
            TokenKind::Alias(_) => return self.alias(),
            _ => {}
        }
        let (properties, start, end) = self.properties()?;
        let in_block = allowed != AllowedNode::Flow;
        let token = self.peek()?;
        let start = start.unwrap_or(token.start);
        let problem = token.start;
        match &token.kind {
            TokenKind::BlockEntry if allowed == AllowedNode::BlockOrIndentlessSequence => {
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

    pub(super) fn alias(&mut self) -> ScanResult<()> {
        self.peek()?;
        let comments = self.take_comments();
        let Some(YamlToken {
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
            return Err(Box::new(ScanFailure {
                message: unknown_anchor(name),
                context: None,
                problem: start,
                stage: Stage::Tree,
            }));
        }
        let node = self.add(
            NodeContent::Alias(text),
            Tag::Implicit,
            Style::NONE,
            start,
            end,
        );
        self.set_comments(node, comments);
        self.attach(node)
    }

    /// Reads an anchor and a tag in any order, with where they begin and end.
    pub(super) fn properties(&mut self) -> ScanResult<(Properties, Option<Mark>, Option<Mark>)> {
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
            if self.doc.tags.is_full() {
                let problem = tag_at.unwrap_or_default();
                return self.fail(start, "found too many different tags", problem);
            }
            properties.tag = Some(tag);
        }
        Ok((properties, start, end))
    }

    pub(super) fn expand_tag(&self, handle: &str, suffix: &str) -> Option<String> {
        if handle.is_empty() {
            return Some(suffix.to_owned());
        }
        let declared = self.tag_directives.get(handle);
        let prefix = match (declared, handle) {
            (Some(prefix), _) => prefix,
            (None, "!") => "!",
            (None, "!!") => YAML_TAGS,
            (None, _) => return None,
        };
        Some(format!("{prefix}{suffix}"))
    }

    pub(super) fn scalar(&mut self, properties: Properties, start: Mark) -> ScanResult<()> {
        let comments = self.take_comments();
        let Some(YamlToken {
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
            NodeContent::Scalar(text),
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
    pub(super) fn add_empty(&mut self, properties: Properties, start: Mark, end: Mark) -> NodeId {
        self.add_with(
            NodeContent::Scalar(Text::EMPTY),
            Tag::Implicit,
            Style::NONE,
            properties,
            start,
            end,
        )
    }

    pub(super) fn add_with(
        &mut self,
        content: NodeContent,
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

    pub(super) fn add(
        &mut self,
        content: NodeContent,
        tag: Tag,
        style: Style,
        start: Mark,
        end: Mark,
    ) -> NodeId {
        let mut node = NodeData::new(content, tag, style);
        node.start = start.index as u32;
        node.end = end.index.max(start.index) as u32;
        if start.column == 0 && self.scanner.is_after_last_line(start) {
            // On a line of its own behind a last line that has no break.
            (node.start, node.end) = (node.start + 1, node.end + 1);
        }
        self.doc.add(node)
    }

    /// Opens a collection that begins at `start` with its properties; its own token stands at `context`.
    pub(super) fn open(
        &mut self,
        kind: OpenKind,
        properties: Properties,
        (start, context): (Mark, Mark),
        comments: Comments,
    ) {
        let (content, tag) = match kind {
            OpenKind::BlockSequence | OpenKind::IndentlessSequence | OpenKind::FlowSequence => {
                (NodeContent::SEQUENCE, KnownTag::Seq)
            }
            _ => (NodeContent::MAPPING, KnownTag::Map),
        };
        let style = match kind {
            OpenKind::FlowSequence | OpenKind::FlowMapping | OpenKind::FlowPair => Style::FLOW,
            _ => Style::NONE,
        };
        let node = self.add_with(content, Tag::Known(tag), style, properties, start, start);
        self.set_comments(node, comments);
        self.open.push(OpenCollection {
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
    pub(super) fn attach(&mut self, node: NodeId) -> ScanResult<()> {
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
    pub(super) fn close(&mut self, comments: Comments, end: Option<Mark>) -> ScanResult<()> {
        let Some(open) = self.open.pop() else {
            return Ok(());
        };
        let end = match (end, self.doc.node_data(open.node).content) {
            (Some(mark), _) => mark.index as u32,
            (None, NodeContent::Mapping { last, .. } | NodeContent::Sequence { last, .. }) => {
                last.get().map_or(0, |last| self.doc.node_data(last).end)
            }
            (None, _) => 0,
        };
        let data = &mut self.doc.nodes[open.node.index()];
        data.end = data.end.max(end);
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
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Overwrite {
    Yes,
    No,
}

/// Moves a foot comment to another node; with `Overwrite::No` only if that one has none.
fn move_foot(doc: &mut Document, from: NodeId, to: NodeId, overwrite: Overwrite) {
    let extra = doc.nodes[from.index()].extra;
    if extra == NodeData::NO_EXTRA {
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
