//! Text to tokens: block structure from indentation, simple keys, and the queue the builder reads from.
//!
//! The queue always holds two tokens behind the one that is looked at. Comments are found while scanning, so this
//! lookahead decides which comments are known by the time a node is built, and with it where they end up.

use std::collections::VecDeque;

use super::comments::Comment;
use super::token::{Failure, Mark, Scan, Stage, Token, TokenKind};
use crate::lines::break_width;

/// Deepest nesting, as in Go.
const MAX_DEPTH: usize = 10_000;
/// A key that is not marked by `?` must end within this many characters.
const MAX_SIMPLE_KEY: usize = 1024;

pub(super) struct Scanner<'t> {
    pub(super) text: &'t str,
    pub(super) src: &'t [u8],
    pub(super) at: usize,
    pub(super) line: u32,
    pub(super) column: u32,
    /// Line breaks consumed since the last byte that was not blank.
    pub(super) newlines: u32,
    pub(super) tokens: VecDeque<Token>,
    /// Tokens that the builder has taken off the queue.
    taken: usize,
    pub(super) comments: VecDeque<Comment>,
    pub(super) indent: i64,
    indents: Vec<i64>,
    pub(super) flow_level: usize,
    simple_keys: Vec<SimpleKey>,
    pub(super) simple_key_allowed: bool,
    head_is_ready: bool,
}

/// A token that turns out to be a mapping's key if a `:` follows in time.
#[derive(Clone, Copy, Default)]
struct SimpleKey {
    possible: bool,
    required: bool,
    token_number: usize,
    /// Whether the builder waits for this key to be settled before it looks at its token.
    awaited: bool,
    mark: Mark,
}

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t str) -> Scanner<'t> {
        let start = Token {
            kind: TokenKind::StreamStart,
            start: Mark::default(),
            end: Mark::default(),
            reach: 0,
        };
        Scanner {
            text,
            src: text.as_bytes(),
            at: 0,
            line: 0,
            column: 0,
            newlines: 0,
            tokens: VecDeque::from([start]),
            taken: 0,
            comments: VecDeque::new(),
            indent: -1,
            indents: Vec::new(),
            flow_level: 0,
            simple_keys: vec![SimpleKey::default()],
            simple_key_allowed: true,
            head_is_ready: false,
        }
    }

    /// Makes sure that the first token of the queue is final, together with the comments before it.
    #[inline]
    pub(super) fn fill(&mut self) -> Scan<()> {
        if self.head_is_ready {
            return Ok(());
        }
        self.fill_queue()
    }

    fn fill_queue(&mut self) -> Scan<()> {
        while self.tokens.len() <= 2 || self.head_may_become_key()? {
            self.fetch()?;
        }
        self.head_is_ready = true;
        Ok(())
    }

    /// Takes the first token off the queue.
    pub(super) fn take(&mut self) -> Option<Token> {
        self.head_is_ready = false;
        self.taken += 1;
        self.tokens.pop_front()
    }

    // ---- the cursor ------------------------------------------------------------------------------------

    #[inline]
    pub(super) fn byte(&self) -> u8 {
        self.byte_at(self.at)
    }

    /// The byte at an offset; 0, which no accepted text contains, beyond the end.
    #[inline]
    pub(super) fn byte_at(&self, at: usize) -> u8 {
        self.src.get(at).copied().unwrap_or(0)
    }

    #[inline]
    pub(super) fn mark(&self) -> Mark {
        Mark {
            index: self.at,
            line: self.line,
            column: self.column,
        }
    }

    #[inline]
    pub(super) fn break_width_at(&self, at: usize) -> usize {
        break_width(self.src, at)
    }

    pub(super) fn is_break_or_end(&self, at: usize) -> bool {
        at >= self.src.len() || self.break_width_at(at) > 0
    }

    pub(super) fn is_blank_or_end(&self, at: usize) -> bool {
        matches!(self.byte_at(at), b' ' | b'\t') || self.is_break_or_end(at)
    }

    /// Moves over one blank or other ASCII character.
    #[inline]
    pub(super) fn skip_ascii(&mut self) {
        if !matches!(self.byte(), b' ' | b'\t') {
            self.newlines = 0;
        }
        self.at += 1;
        self.column += 1;
    }

    /// Moves forward to `end` on the same line; there must be something that is not blank in between.
    #[inline]
    pub(super) fn advance_to(&mut self, end: usize) {
        let run = &self.src[self.at..end];
        // Bytes that continue a character have no column of their own.
        let continuing = run.iter().filter(|byte| **byte & 0xC0 == 0x80).count();
        self.column += (run.len() - continuing) as u32;
        self.newlines = 0;
        self.at = end;
    }

    /// Moves over the line break here, if there is one.
    pub(super) fn skip_break(&mut self) {
        let width = self.break_width_at(self.at);
        if width > 0 {
            self.at += width;
            self.column = 0;
            self.line += 1;
            self.newlines += 1;
        }
    }

    /// Moves over the line break here and returns its normal form.
    pub(super) fn take_break(&mut self) -> &'static str {
        let normal = match (self.byte(), self.byte_at(self.at + 2)) {
            (0xE2, 0xA8) => "\u{2028}",
            (0xE2, _) => "\u{2029}",
            _ => "\n",
        };
        self.skip_break();
        normal
    }

    /// The end of the line that `from` is on, without its break.
    pub(super) fn line_end(&self, from: usize) -> usize {
        let mut at = from;
        while at < self.src.len() {
            if matches!(self.src[at], b'\n' | b'\r' | 0xC2 | 0xE2) && self.break_width_at(at) > 0 {
                break;
            }
            at += 1;
        }
        at
    }

    /// Whether a mark at column zero stands behind a last line that does not end in a break.
    pub(super) fn is_after_last_line(&self, mark: Mark) -> bool {
        mark.index == self.src.len()
            && mark.line > 0
            && !self.text.ends_with(crate::lines::is_break)
    }

    pub(super) fn fail<T>(&self, context: Option<Mark>, message: &str) -> Scan<T> {
        Err(Box::new(Failure {
            message: message.to_owned(),
            context,
            problem: self.mark(),
            stage: Stage::Scanner,
        }))
    }

    // ---- tokens ----------------------------------------------------------------------------------------

    fn fetch(&mut self) -> Scan<()> {
        let scan_start = self.mark();
        self.skip_to_next_token()?;
        self.close_blocks(i64::from(self.column), scan_start);

        if self.at >= self.src.len() {
            return self.fetch_stream_end();
        }
        let byte = self.byte();
        if self.column == 0 {
            if byte == b'%' {
                return self.fetch_directive();
            }
            if let Some(kind) = self.document_indicator() {
                return self.fetch_document_indicator(kind);
            }
        }

        // A comment behind `:` or `,` is about what stands before it.
        let belongs_to_previous =
            (self.flow_level == 0 && byte == b':') || (self.flow_level > 0 && byte == b',');
        let comment_anchor = match self.tokens.back() {
            Some(last) if belongs_to_previous => last.start,
            _ => self.mark(),
        };
        self.fetch_content(byte)?;
        let after_dash = matches!(
            self.tokens.back(),
            Some(Token {
                kind: TokenKind::BlockEntry,
                ..
            })
        );
        if !after_dash {
            self.scan_line_comment(comment_anchor);
        }
        Ok(())
    }

    fn fetch_content(&mut self, byte: u8) -> Scan<()> {
        let next = self.at + 1;
        match byte {
            b'[' => self.fetch_flow_start(TokenKind::FlowSequenceStart),
            b'{' => self.fetch_flow_start(TokenKind::FlowMappingStart),
            b']' => self.fetch_flow_end(TokenKind::FlowSequenceEnd),
            b'}' => self.fetch_flow_end(TokenKind::FlowMappingEnd),
            b',' => self.fetch_flow_entry(),
            b'-' if self.is_blank_or_end(next) => self.fetch_block_entry(),
            b'?' if self.flow_level > 0 || self.is_blank_or_end(next) => self.fetch_key(),
            b':' if self.flow_level > 0 || self.is_blank_or_end(next) => self.fetch_value(),
            b'*' => self.fetch_anchor(TokenKind::Alias),
            b'&' => self.fetch_anchor(TokenKind::Anchor),
            b'!' => self.fetch_tag(),
            b'|' | b'>' if self.flow_level == 0 => self.fetch_block_scalar(byte),
            b'\'' | b'"' => self.fetch_quoted_scalar(byte),
            b'-' if !matches!(self.byte_at(next), b' ' | b'\t') => self.fetch_plain_scalar(),
            b'?' | b':' if self.flow_level == 0 => self.fetch_plain_scalar(),
            b'-' | b'?' | b':' | b'#' | b'|' | b'>' | b'%' | b'@' | b'`' | b' ' | b'\t' => self
                .fail(
                    Some(self.mark()),
                    "found character that cannot start any token",
                ),
            _ => self.fetch_plain_scalar(),
        }
    }

    pub(super) fn document_indicator(&self) -> Option<TokenKind> {
        let kind = match self.src.get(self.at..self.at + 3)? {
            b"---" => TokenKind::DocumentStart,
            b"..." => TokenKind::DocumentEnd,
            _ => return None,
        };
        self.is_blank_or_end(self.at + 3).then_some(kind)
    }

    pub(super) fn push(&mut self, kind: TokenKind, start: Mark) {
        let end = self.mark();
        self.tokens.push_back(Token {
            kind,
            start,
            end,
            reach: start.index as u32,
        });
    }

    fn push_indicator(&mut self, kind: TokenKind) {
        let start = self.mark();
        self.skip_ascii();
        self.push(kind, start);
    }

    fn fetch_stream_end(&mut self) -> Scan<()> {
        if self.column != 0 {
            self.column = 0;
            self.line += 1;
        }
        self.close_blocks(-1, self.mark());
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        self.push(TokenKind::StreamEnd, self.mark());
        Ok(())
    }

    fn fetch_directive(&mut self) -> Scan<()> {
        self.close_blocks(-1, self.mark());
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        self.scan_directive()
    }

    fn fetch_document_indicator(&mut self, kind: TokenKind) -> Scan<()> {
        self.close_blocks(-1, self.mark());
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        let start = self.mark();
        self.advance_to(self.at + 3);
        self.push(kind, start);
        Ok(())
    }

    fn fetch_flow_start(&mut self, kind: TokenKind) -> Scan<()> {
        self.save_simple_key()?;
        // Not a key yet, but numbered, so that the levels stay sorted by token number.
        self.simple_keys.push(SimpleKey {
            token_number: self.taken + self.tokens.len(),
            mark: self.mark(),
            ..SimpleKey::default()
        });
        self.flow_level += 1;
        if self.flow_level > MAX_DEPTH {
            return self.too_deep();
        }
        self.simple_key_allowed = true;
        self.push_indicator(kind);
        Ok(())
    }

    fn fetch_flow_end(&mut self, kind: TokenKind) -> Scan<()> {
        self.remove_simple_key()?;
        if self.flow_level > 0 {
            self.flow_level -= 1;
            let closed = self.simple_keys.pop().unwrap_or_default();
            // A slip in Go: a collection in which no key was possible is not waited for itself either.
            if let Some(outer) = self.simple_keys.last_mut()
                && outer.token_number == closed.token_number
            {
                outer.awaited = false;
            }
        }
        self.simple_key_allowed = false;
        self.push_indicator(kind);
        Ok(())
    }

    fn fetch_flow_entry(&mut self) -> Scan<()> {
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        self.push_indicator(TokenKind::FlowEntry);
        Ok(())
    }

    fn fetch_block_entry(&mut self) -> Scan<()> {
        if self.flow_level == 0 {
            if !self.simple_key_allowed {
                return self.fail(
                    Some(self.mark()),
                    "block sequence entries are not allowed in this context",
                );
            }
            self.open_block(self.mark(), None, TokenKind::BlockSequenceStart)?;
        }
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        self.push_indicator(TokenKind::BlockEntry);
        Ok(())
    }

    fn fetch_key(&mut self) -> Scan<()> {
        if self.flow_level == 0 {
            if !self.simple_key_allowed {
                return self.fail(
                    Some(self.mark()),
                    "mapping keys are not allowed in this context",
                );
            }
            self.open_block(self.mark(), None, TokenKind::BlockMappingStart)?;
        }
        self.remove_simple_key()?;
        self.simple_key_allowed = self.flow_level == 0;
        self.push_indicator(TokenKind::Key);
        Ok(())
    }

    fn fetch_value(&mut self) -> Scan<()> {
        if let Some(key) = self.current_simple_key()? {
            // Where the key's token was taken already, both go to the end, as in Go.
            let place = key.token_number.checked_sub(self.taken);
            self.insert(TokenKind::Key, key.mark, place);
            self.open_block(key.mark, place, TokenKind::BlockMappingStart)?;
            self.forget_simple_key();
            self.simple_key_allowed = false;
        } else {
            if self.flow_level == 0 {
                if !self.simple_key_allowed {
                    return self.fail(
                        Some(self.mark()),
                        "mapping values are not allowed in this context",
                    );
                }
                self.open_block(self.mark(), None, TokenKind::BlockMappingStart)?;
            }
            self.simple_key_allowed = self.flow_level == 0;
        }
        self.push_indicator(TokenKind::Value);
        Ok(())
    }

    // ---- blocks ----------------------------------------------------------------------------------------

    /// Opens a block at a deeper column, if this is one.
    fn open_block(&mut self, mark: Mark, place: Option<usize>, kind: TokenKind) -> Scan<()> {
        if self.flow_level > 0 || self.indent >= i64::from(mark.column) {
            return Ok(());
        }
        self.indents.push(self.indent);
        self.indent = i64::from(mark.column);
        if self.indents.len() > MAX_DEPTH {
            return self.too_deep();
        }
        self.insert(kind, mark, place);
        Ok(())
    }

    /// Puts a token without extent at a place of the queue, or at its end.
    fn insert(&mut self, kind: TokenKind, mark: Mark, place: Option<usize>) {
        let token = Token {
            kind,
            start: mark,
            end: mark,
            reach: mark.index as u32,
        };
        match place {
            Some(place) if place <= self.tokens.len() => self.tokens.insert(place, token),
            _ => self.tokens.push_back(token),
        }
    }

    /// Closes the blocks that are deeper than `column`.
    ///
    /// The end of a block is placed before the white space that led here, or at the first of the comments in it that
    /// stand at the block's own column, so that those become foot comments inside the block.
    fn close_blocks(&mut self, column: i64, scan_start: Mark) {
        if self.flow_level > 0 || self.indent <= column {
            return;
        }
        let mut end = scan_start;
        // Just before: so that comments anchored at the scan's start are not taken by the block's end.
        let mut reach = scan_start.index.saturating_sub(1);
        let touching = self.touching_comments(reach);
        while self.indent > column {
            if let Some(mark) = touching.first_at_column(self.indent + 1) {
                // Go counts this column from one, so that the place is one further than the comment's start.
                (end, reach) = (mark, mark.index);
                end.index += 1;
            }
            self.tokens.push_back(Token {
                kind: TokenKind::BlockEnd,
                start: end,
                end,
                reach: reach as u32,
            });
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }

    fn too_deep<T>(&self) -> Scan<T> {
        let key = self.simple_keys.last().map(|key| key.mark);
        self.fail(key, "exceeded max depth of 10000")
    }

    // ---- simple keys -----------------------------------------------------------------------------------

    /// Remembers that the token to come may be a key.
    pub(super) fn save_simple_key(&mut self) -> Scan<()> {
        // A key is required where the block's own column leaves no other reading.
        let required = self.flow_level == 0 && self.indent == i64::from(self.column);
        if self.simple_key_allowed {
            self.remove_simple_key()?;
            let key = SimpleKey {
                possible: true,
                required,
                token_number: self.taken + self.tokens.len(),
                awaited: true,
                mark: self.mark(),
            };
            if let Some(last) = self.simple_keys.last_mut() {
                *last = key;
            }
        }
        Ok(())
    }

    pub(super) fn remove_simple_key(&mut self) -> Scan<()> {
        match self.simple_keys.last() {
            Some(key) if key.possible && key.required => {
                let mark = key.mark;
                self.fail(Some(mark), "could not find expected ':'")
            }
            _ => {
                self.forget_simple_key();
                Ok(())
            }
        }
    }

    fn forget_simple_key(&mut self) {
        if let Some(key) = self.simple_keys.last_mut() {
            key.possible = false;
        }
    }

    fn current_simple_key(&mut self) -> Scan<Option<SimpleKey>> {
        self.live_simple_key(self.simple_keys.len() - 1)
    }

    /// The simple key of a flow level, unless it was on another line or too far back.
    fn live_simple_key(&mut self, level: usize) -> Scan<Option<SimpleKey>> {
        let key = self.simple_keys[level];
        if !key.possible {
            return Ok(None);
        }
        if key.mark.line < self.line || self.is_beyond_simple_key(key.mark) {
            if key.required {
                return self.fail(Some(key.mark), "could not find expected ':'");
            }
            self.simple_keys[level].possible = false;
            return Ok(None);
        }
        Ok(Some(key))
    }

    fn is_beyond_simple_key(&self, key: Mark) -> bool {
        self.at - key.index > MAX_SIMPLE_KEY
            && self.text[key.index..self.at].chars().count() > MAX_SIMPLE_KEY
    }

    /// Whether the first token of the queue may still get a `Key` before it.
    fn head_may_become_key(&mut self) -> Scan<bool> {
        // Keys of outer levels have smaller token numbers, so the levels are sorted by them.
        let level = self
            .simple_keys
            .partition_point(|key| key.token_number < self.taken);
        match self.simple_keys.get(level) {
            Some(key) if key.token_number == self.taken && key.awaited => {
                Ok(self.live_simple_key(level)?.is_some())
            }
            _ => Ok(false),
        }
    }
}
