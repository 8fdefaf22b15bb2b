//! Text to tokens: block structure from indentation, simple keys, and the queue the builder reads from.
//!
//! The queue always holds two tokens behind the one that is looked at. Comments are found while scanning, so this
//! lookahead decides which comments are known by the time a node is built, and with it where they end up.

mod cursor;
mod structure;

use std::collections::VecDeque;

use super::comments::Comment;
use super::token::{Mark, ScanResult, TokenKind, YamlToken};

/// Deepest nesting, as in Go.
const MAX_DEPTH: usize = 10_000;

pub(super) struct Scanner<'t> {
    pub(super) text: &'t str,
    pub(super) src: &'t [u8],
    pub(super) at: usize,
    pub(super) line: u32,
    pub(super) column: u32,
    /// Line breaks consumed since the last byte that was not blank.
    pub(super) newlines: u32,
    pub(super) tokens: VecDeque<YamlToken>,
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
        let start = YamlToken {
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
            tokens: {
                // The queue is short, but for long keys.
                let mut tokens = VecDeque::with_capacity(16);
                tokens.push_back(start);
                tokens
            },
            taken: 0,
            comments: VecDeque::new(),
            indent: -1,
            indents: Vec::with_capacity(16),
            flow_level: 0,
            simple_keys: vec![SimpleKey::default()],
            simple_key_allowed: true,
            head_is_ready: false,
        }
    }

    /// Makes sure that the first token of the queue is final, together with the comments before it.
    #[inline]
    pub(super) fn fill(&mut self) -> ScanResult<()> {
        if self.head_is_ready {
            return Ok(());
        }
        self.fill_queue()
    }

    fn fill_queue(&mut self) -> ScanResult<()> {
        while self.tokens.len() <= 2 || self.head_may_become_key()? {
            self.fetch()?;
        }
        self.head_is_ready = true;
        Ok(())
    }

    /// Takes the first token off the queue.
    pub(super) fn take(&mut self) -> Option<YamlToken> {
        self.head_is_ready = false;
        self.taken += 1;
        self.tokens.pop_front()
    }

    fn fetch(&mut self) -> ScanResult<()> {
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
            Some(last) if belongs_to_previous => last.reach as usize,
            _ => self.at,
        };
        self.fetch_content(byte)?;
        let after_dash = matches!(
            self.tokens.back(),
            Some(YamlToken {
                kind: TokenKind::BlockEntry,
                ..
            })
        );
        if !after_dash {
            self.scan_line_comment(comment_anchor);
        }
        Ok(())
    }

    fn fetch_content(&mut self, byte: u8) -> ScanResult<()> {
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
        self.tokens.push_back(YamlToken {
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

    fn fetch_stream_end(&mut self) -> ScanResult<()> {
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

    fn fetch_directive(&mut self) -> ScanResult<()> {
        self.close_blocks(-1, self.mark());
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        self.scan_directive()
    }

    fn fetch_document_indicator(&mut self, kind: TokenKind) -> ScanResult<()> {
        self.close_blocks(-1, self.mark());
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        let start = self.mark();
        self.advance_to(self.at + 3);
        self.push(kind, start);
        Ok(())
    }

    fn fetch_flow_start(&mut self, kind: TokenKind) -> ScanResult<()> {
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

    fn fetch_flow_end(&mut self, kind: TokenKind) -> ScanResult<()> {
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

    fn fetch_flow_entry(&mut self) -> ScanResult<()> {
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        self.push_indicator(TokenKind::FlowEntry);
        Ok(())
    }

    fn fetch_block_entry(&mut self) -> ScanResult<()> {
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

    fn fetch_key(&mut self) -> ScanResult<()> {
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

    fn fetch_value(&mut self) -> ScanResult<()> {
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
}
