//! The contents of collections: what may follow what.

use super::{AllowedNode, Builder, Comments, OpenKind, Properties};
use crate::parse::token::{Mark, Piece, ScanResult, TokenKind};

impl Builder<'_> {
    /// Reads the next part of the innermost open collection.
    pub(super) fn step(&mut self) -> ScanResult<()> {
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

    pub(super) fn context(&self) -> Option<Mark> {
        self.open.last().map(|open| open.start)
    }

    pub(super) fn empty_at(&mut self, mark: Mark) -> ScanResult<()> {
        let empty = self.add_empty(Properties::default(), mark, mark);
        self.attach(empty)
    }

    /// Moves past a `-`, keeping the comments above it, which belong to the item as a whole.
    pub(super) fn skip_entry(&mut self) -> ScanResult<Mark> {
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
            self.head = rest.into();
        }
        Ok(mark)
    }

    pub(super) fn block_sequence_item(&mut self) -> ScanResult<()> {
        let token = self.peek()?;
        let start = token.start;
        match token.kind {
            TokenKind::BlockEntry => {
                let mark = self.skip_entry()?;
                match self.peek()?.kind {
                    TokenKind::BlockEntry | TokenKind::BlockEnd => self.empty_at(mark),
                    _ => self.node(AllowedNode::Block),
                }
            }
            TokenKind::BlockEnd => {
                self.skip()?;
                self.close(Comments::default(), None)
            }
            _ => self.fail(self.context(), "did not find expected '-' indicator", start),
        }
    }

    pub(super) fn indentless_sequence_item(&mut self) -> ScanResult<()> {
        if self.peek()?.kind != TokenKind::BlockEntry {
            return self.close(Comments::default(), None);
        }
        let mark = self.skip_entry()?;
        match self.peek()?.kind {
            TokenKind::BlockEntry | TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => {
                self.empty_at(mark)
            }
            _ => self.node(AllowedNode::Block),
        }
    }

    pub(super) fn block_mapping_key(&mut self) -> ScanResult<()> {
        let token = self.peek()?;
        let (start, end) = (token.start, token.end);
        match token.kind {
            TokenKind::Key => {
                self.skip()?;
                match self.peek()?.kind {
                    TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => self.empty_at(end),
                    _ => self.node(AllowedNode::BlockOrIndentlessSequence),
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

    pub(super) fn block_mapping_value(&mut self) -> ScanResult<()> {
        let token = self.peek()?;
        let (start, end) = (token.start, token.end);
        if token.kind != TokenKind::Value {
            return self.empty_at(start);
        }
        self.skip()?;
        match self.peek()?.kind {
            TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => self.empty_at(end),
            _ => self.node(AllowedNode::BlockOrIndentlessSequence),
        }
    }

    pub(super) fn flow_sequence_item(&mut self, first: bool) -> ScanResult<()> {
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
                _ => return self.node(AllowedNode::Flow),
            }
        }
        self.close_flow()
    }

    pub(super) fn close_flow(&mut self) -> ScanResult<()> {
        let end = self.peek()?.end;
        let comments = self.take_comments();
        self.skip()?;
        self.close(comments, Some(end))
    }

    pub(super) fn expect_flow_entry(&mut self, message: &str) -> ScanResult<()> {
        let token = self.peek()?;
        if token.kind != TokenKind::FlowEntry {
            let problem = token.start;
            return self.fail(self.context(), message, problem);
        }
        self.skip()
    }

    pub(super) fn flow_pair_key_or_end(&mut self, first: bool) -> ScanResult<()> {
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
            _ => self.node(AllowedNode::Flow),
        }
    }

    pub(super) fn flow_pair_value(&mut self) -> ScanResult<()> {
        let mark = self.peek()?.start;
        if self.peek()?.kind == TokenKind::Value {
            self.skip()?;
            match self.peek()?.kind {
                TokenKind::FlowEntry | TokenKind::FlowSequenceEnd => {}
                _ => return self.node(AllowedNode::Flow),
            }
        }
        self.empty_at(mark)
    }

    pub(super) fn flow_mapping_key(&mut self, first: bool) -> ScanResult<()> {
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
                        _ => self.node(AllowedNode::Flow),
                    };
                }
                TokenKind::FlowMappingEnd => {}
                _ => return self.node(AllowedNode::Flow),
            }
        }
        self.close_flow()
    }

    pub(super) fn flow_mapping_value(&mut self) -> ScanResult<()> {
        let announced = self.open.last().is_some_and(|open| open.key_is_announced);
        if announced && self.peek()?.kind == TokenKind::Value {
            self.skip()?;
            match self.peek()?.kind {
                TokenKind::FlowEntry | TokenKind::FlowMappingEnd => {}
                _ => return self.node(AllowedNode::Flow),
            }
        }
        let mark = self.peek()?.start;
        self.empty_at(mark)
    }
}
