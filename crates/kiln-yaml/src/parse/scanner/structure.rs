//! What indentation and `:` mean: opening and closing blocks, and keys that are only known by what follows them.

use super::{MAX_DEPTH, Scanner, SimpleKey};
use crate::parse::token::{Mark, ScanResult, TokenKind, YamlToken};

/// A key that is not marked by `?` must end within this many characters.
const MAX_SIMPLE_KEY: usize = 1024;

impl Scanner<'_> {
    /// Opens a block at a deeper column, if this is one.
    pub(super) fn open_block(
        &mut self,
        mark: Mark,
        place: Option<usize>,
        kind: TokenKind,
    ) -> ScanResult<()> {
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

    /// Inserts a token without extent into the queue, or appends it.
    pub(super) fn insert(&mut self, kind: TokenKind, mark: Mark, place: Option<usize>) {
        let token = YamlToken {
            kind,
            start: mark,
            end: mark,
            reach: mark.index as u32,
        };
        let end = self.tokens.len();
        match place {
            // Before the newest token, as for most keys.
            Some(place) if place + 1 == end => {
                let newest = self.tokens.pop_back();
                self.tokens.push_back(token);
                self.tokens.extend(newest);
            }
            Some(place) if place < end => self.tokens.insert(place, token),
            _ => self.tokens.push_back(token),
        }
    }

    /// Closes the blocks that are deeper than `column`.
    ///
    /// The end of a block is placed before the white space that led here, or at the first of the comments in it that
    /// stand at the block's own column, so that those become foot comments inside the block.
    pub(super) fn close_blocks(&mut self, column: i64, scan_start: Mark) {
        if self.flow_level > 0 || self.indent <= column {
            return;
        }
        let mut end = scan_start;
        // Just before: so that comments anchored at the scan's start are not taken by the block's end.
        let mut reach = scan_start.index.saturating_sub(1);
        let touching = self.touching_comments(reach);
        while self.indent > column {
            if let Some(mark) = touching.first_at_column(self.indent + 1) {
                // Go counts this column from one, so that the position is one further than the comment's start.
                (end, reach) = (mark, mark.index);
                end.index += 1;
            }
            self.tokens.push_back(YamlToken {
                kind: TokenKind::BlockEnd,
                start: end,
                end,
                reach: reach as u32,
            });
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }

    pub(super) fn too_deep<T>(&self) -> ScanResult<T> {
        let key = self.simple_keys.last().map(|key| key.mark);
        self.fail(key, "exceeded max depth of 10000")
    }

    /// Remembers that the token to come may be a key.
    pub(in crate::parse) fn save_simple_key(&mut self) -> ScanResult<()> {
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

    pub(in crate::parse) fn remove_simple_key(&mut self) -> ScanResult<()> {
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

    pub(super) fn forget_simple_key(&mut self) {
        if let Some(key) = self.simple_keys.last_mut() {
            key.possible = false;
        }
    }

    pub(super) fn current_simple_key(&mut self) -> ScanResult<Option<SimpleKey>> {
        self.live_simple_key(self.simple_keys.len() - 1)
    }

    /// The simple key of a flow level, unless it was on another line or too far back.
    fn live_simple_key(&mut self, level: usize) -> ScanResult<Option<SimpleKey>> {
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
    pub(super) fn head_may_become_key(&mut self) -> ScanResult<bool> {
        let level = match self.simple_keys.len() {
            1 => 0,
            // Keys of outer levels have smaller token numbers, so the levels are sorted by them.
            _ => self
                .simple_keys
                .partition_point(|key| key.token_number < self.taken),
        };
        match self.simple_keys.get(level) {
            Some(key) if key.token_number == self.taken && key.awaited => {
                Ok(self.live_simple_key(level)?.is_some())
            }
            _ => Ok(false),
        }
    }
}
