//! Comments: finding them while white space is skipped, and deciding what each is about.
//!
//! A comment is queued with an anchor, the offset of the token it is handed over with. A line comment belongs to the
//! token it follows; a run of comment lines is a foot of what stands above it or the head of what comes below,
//! depending on blank lines, columns and closing brackets.

use std::collections::BTreeMap;

use super::scanner::Scanner;
use super::token::{Lines, Mark, Piece, ScanResult, TokenKind};
use crate::document::Slot;

/// How far ahead a comment is looked for over blanks and line breaks.
const REACH: usize = 512;

/// A comment that waits for the token it belongs to.
#[derive(Clone, Debug)]
pub(super) struct Comment {
    pub(super) slot: Slot,
    pub(super) text: Piece,
    /// Handed over with the first token that starts here or later.
    pub(super) anchor: usize,
    /// Where it begins; for head and foot comments the column counts from one.
    start: Mark,
    /// Where it ends; 0 for line comments, which no run of comments continues over.
    end: usize,
    /// Where the white space began in which it was found.
    scan: usize,
}

/// The comments in the white space just scanned, by the column of their first character.
pub(super) struct TouchingComments(BTreeMap<i64, Mark>);

impl TouchingComments {
    /// The first comment at a column (from one).
    pub(super) fn first_at_column(&self, column: i64) -> Option<Mark> {
        self.0.get(&column).copied()
    }
}

/// The comment lines seen so far in one scan that have not been queued yet.
struct CommentRun {
    text: Lines,
    start: Mark,
    /// What a foot comment belongs to.
    anchor: usize,
    scan: usize,
}

impl CommentRun {
    fn take(&mut self, slot: Slot, anchor: usize, end: usize) -> Comment {
        Comment {
            slot,
            text: self.text.take(),
            anchor,
            start: self.start,
            end,
            scan: self.scan,
        }
    }
}

impl Scanner<'_> {
    /// Moves over blanks, line breaks and comments to the next token, queueing the comments.
    pub(super) fn skip_to_next_token(&mut self) -> ScanResult<()> {
        let scan_start = self.mark();
        loop {
            if self.at == 0 && self.src.starts_with(b"\xEF\xBB\xBF") {
                // A second byte order mark takes a column.
                self.advance_to(3);
            }
            while self.byte() == b' '
                || (self.byte() == b'\t' && (self.flow_level > 0 || !self.simple_key_allowed))
            {
                self.skip_ascii();
            }
            if !self.comments.is_empty() {
                self.turn_line_comment_before_nested_item_into_head();
            }
            if self.byte() == b'#' {
                self.scan_comments(scan_start);
            }
            if self.break_width_at(self.at) == 0 {
                return Ok(());
            }
            self.skip_break();
            if self.flow_level == 0 {
                self.simple_key_allowed = true;
            }
        }
    }

    /// Queues the comment that follows the newest token on its line.
    pub(super) fn scan_line_comment(&mut self, anchor: usize) {
        if self.newlines > 0 {
            return;
        }
        let mut at = self.at;
        while matches!(self.byte_at(at), b' ' | b'\t') {
            at += 1;
        }
        if at - self.at >= REACH || self.byte_at(at) != b'#' {
            return;
        }
        self.column += (at - self.at) as u32;
        self.at = at;
        let start = self.mark();
        let end = self.line_end(at);
        self.advance_to(end);
        self.comments.push_back(Comment {
            slot: Slot::Line,
            text: Piece::span(at, end),
            anchor,
            start,
            end: 0,
            scan: 0,
        });
    }

    /// `key: # c` followed by an indented list: the comment turns into the head of the first item's content.
    fn turn_line_comment_before_nested_item_into_head(&mut self) {
        let newest = self.tokens.len();
        if newest < 2
            || self.tokens[newest - 1].kind != TokenKind::BlockEntry
            || self.tokens[newest - 2].kind != TokenKind::BlockSequenceStart
            || self.break_width_at(self.at) > 0
        {
            return;
        }
        let (here, line) = (self.at, self.line);
        if let Some(comment) = self.comments.back_mut()
            && comment.slot == Slot::Line
        {
            comment.slot = Slot::Head;
            if comment.start.line + 1 == line {
                comment.anchor = here;
            }
        }
    }

    /// Queues the comments from here to the next token or to the end of the reach.
    fn scan_comments(&mut self, scan_start: Mark) {
        let newest = self.tokens.len();
        let token = match self.tokens.back() {
            Some(last) if last.kind == TokenKind::FlowEntry && newest > 1 => {
                &self.tokens[newest - 2]
            }
            Some(last) => last,
            None => return,
        };
        let after_value_indicator = token.kind == TokenKind::Value;
        let mut run = CommentRun {
            text: Lines::default(),
            start: Mark::default(),
            anchor: token.reach as usize,
            scan: scan_start.index,
        };
        let indent = self.indent.max(0);
        let is_dedented = |column: u32| i64::from(column) - 1 < indent;
        // The line right below the last content: a comment must start there to be its foot.
        let foot_line = (scan_start.line > 0).then(|| {
            let beside_content = self.newlines == 0 && self.column > 1;
            i64::from(self.line) - i64::from(self.newlines) + 1 + i64::from(beside_content)
        });
        let mut no_blank_line_yet = self.newlines <= 1;
        let mut after_blank_line = false;
        let mut line = self.line;
        let mut column = self.column;
        let mut ahead = 0;
        while ahead < REACH {
            let at = self.at + ahead;
            let byte = self.byte_at(at);
            column += 1;
            if matches!(byte, b' ' | b'\t') {
                ahead += 1;
                continue;
            }
            let closes_flow = self.flow_level > 0 && matches!(byte, b']' | b'}');
            if closes_flow || self.is_break_or_end(at) {
                if !run.text.is_empty() && (closes_flow || !after_blank_line) {
                    let dedented = is_dedented(run.start.column);
                    let below_content =
                        foot_line == Some(i64::from(run.start.line)) && !after_value_indicator;
                    if closes_flow || (no_blank_line_yet && (below_content || dedented)) {
                        let anchor = if dedented {
                            run.start.index
                        } else {
                            run.anchor
                        };
                        self.comments.push_back(run.take(Slot::Foot, anchor, at));
                        (run.scan, run.anchor) = (at, at);
                    } else if byte != 0 {
                        run.text.push_break(self.text);
                    }
                }
                if self.break_width_at(at) == 0 {
                    break;
                }
                no_blank_line_yet = false;
                after_blank_line = true;
                column = 0;
                line += 1;
                ahead += 1;
                continue;
            }
            if !run.text.is_empty() && is_dedented(column) && column != run.start.column {
                let anchor = run.anchor;
                self.comments.push_back(run.take(Slot::Foot, anchor, at));
                (run.scan, run.anchor) = (at, at);
            }
            if byte != b'#' {
                break;
            }
            let end = self.line_end(at);
            if run.text.is_empty() {
                run.start = Mark {
                    index: at,
                    line,
                    column,
                };
            }
            run.text.push(&Piece::span(at, end), self.text);
            after_blank_line = false;
            self.move_over_white_space_to(at);
            self.advance_to(end);
            // The break that ends this line is passed over without being counted as a blank line.
            ahead = 1;
            column = 0;
            line = self.line;
        }
        if !run.text.is_empty() {
            let anchor = run.start.index;
            let end = self.at + ahead.min(REACH) - 1;
            self.comments.push_back(run.take(Slot::Head, anchor, end));
        }
    }

    fn move_over_white_space_to(&mut self, end: usize) {
        while self.at < end {
            if self.break_width_at(self.at) > 0 {
                self.skip_break();
            } else {
                self.skip_ascii();
            }
        }
    }

    /// The queued comments that reach back from the newest one without a gap, down to `stop`.
    pub(super) fn touching_comments(&self, stop: usize) -> TouchingComments {
        let mut stop = stop;
        let mut by_column = BTreeMap::new();
        for comment in self.comments.iter().rev() {
            if comment.end < stop {
                break;
            }
            // Going backwards, so that the first one of a column is what remains.
            by_column.insert(i64::from(comment.start.column), comment.start);
            stop = comment.scan;
        }
        TouchingComments(by_column)
    }
}
