//! Literal and folded block scalars.

use super::scanner::Scanner;
use super::token::{Mark, Piece, ScanResult, TokenKind};
use crate::node::Style;

/// What to do with the line breaks at the end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chomp {
    Strip,
    Clip,
    Keep,
}

impl Scanner<'_> {
    pub(super) fn fetch_block_scalar(&mut self, indicator: u8) -> ScanResult<()> {
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        let start = self.mark();
        self.skip_ascii();
        let (chomp, increment) = self.scan_block_header(start)?;
        let style = if indicator == b'|' {
            Style::LITERAL
        } else {
            Style::FOLDED
        };
        let (text, end) = self.scan_block_text(style, chomp, increment, start)?;
        self.tokens.push_back(super::token::YamlToken {
            kind: TokenKind::Scalar {
                text: Piece::Owned(text.into_boxed_str()),
                style,
            },
            reach: start.index as u32,
            start,
            end,
        });
        Ok(())
    }

    fn scan_block_header(&mut self, start: Mark) -> ScanResult<(Chomp, i64)> {
        let mut chomp = Chomp::Clip;
        let mut increment = 0;
        let chomp_first = matches!(self.byte(), b'+' | b'-');
        if chomp_first {
            chomp = self.scan_chomp();
        }
        if self.byte().is_ascii_digit() {
            if self.byte() == b'0' {
                return self.fail(Some(start), "found an indentation indicator equal to 0");
            }
            increment = i64::from(self.byte() - b'0');
            self.skip_ascii();
            if !chomp_first && matches!(self.byte(), b'+' | b'-') {
                chomp = self.scan_chomp();
            }
        }
        while matches!(self.byte(), b' ' | b'\t') {
            self.skip_ascii();
        }
        if self.byte() == b'#' {
            self.scan_line_comment(start.index);
            let end = self.line_end(self.at);
            if end > self.at {
                self.advance_to(end);
            }
        }
        if !self.is_break_or_end(self.at) {
            return self.fail(Some(start), "did not find expected comment or line break");
        }
        self.skip_break();
        Ok((chomp, increment))
    }

    fn scan_chomp(&mut self) -> Chomp {
        let chomp = if self.byte() == b'+' {
            Chomp::Keep
        } else {
            Chomp::Strip
        };
        self.skip_ascii();
        chomp
    }

    fn scan_block_text(
        &mut self,
        style: Style,
        chomp: Chomp,
        increment: i64,
        start: Mark,
    ) -> ScanResult<(String, Mark)> {
        let mut end = self.mark();
        let mut indent = match increment {
            0 => None,
            n => Some(self.indent.max(0) + n),
        };
        let mut text = String::new();
        // The break of the line before, and the blank lines after it.
        let mut line_break = "";
        let mut blank_lines = String::new();
        let mut line_began_blank = false;
        self.scan_block_breaks(&mut indent, &mut blank_lines, start, &mut end)?;
        let indent = indent.unwrap_or_default();
        while i64::from(self.column) == indent && self.at < self.src.len() {
            let begins_blank = matches!(self.byte(), b' ' | b'\t');
            if style == Style::FOLDED
                && !line_began_blank
                && !begins_blank
                && line_break.starts_with('\n')
            {
                if blank_lines.is_empty() {
                    text.push(' ');
                }
            } else {
                text.push_str(line_break);
            }
            line_break = "";
            text.push_str(&blank_lines);
            blank_lines.clear();
            line_began_blank = begins_blank;

            let line_end = self.line_end(self.at);
            text.push_str(&self.text[self.at..line_end]);
            // Blanks alone do not count as content for where comments go.
            let newlines = self.newlines;
            let only_blanks = self.src[self.at..line_end]
                .iter()
                .all(|byte| matches!(byte, b' ' | b'\t'));
            self.advance_to(line_end);
            if only_blanks {
                self.newlines = newlines;
            }
            if self.at < self.src.len() {
                line_break = self.take_break();
            }
            let mut known = Some(indent);
            self.scan_block_breaks(&mut known, &mut blank_lines, start, &mut end)?;
        }
        if chomp != Chomp::Strip {
            text.push_str(line_break);
        }
        if chomp == Chomp::Keep {
            text.push_str(&blank_lines);
        }
        Ok((text, end))
    }

    /// Reads blank lines and the indentation of the next line; finds out the indentation if it is not known.
    fn scan_block_breaks(
        &mut self,
        indent: &mut Option<i64>,
        breaks: &mut String,
        start: Mark,
        end: &mut Mark,
    ) -> ScanResult<()> {
        *end = self.mark();
        let mut deepest = 0;
        loop {
            let below = |column: u32| indent.is_none_or(|indent| i64::from(column) < indent);
            while below(self.column) && self.byte() == b' ' {
                self.skip_ascii();
            }
            deepest = deepest.max(i64::from(self.column));
            if below(self.column) && self.byte() == b'\t' {
                return self.fail(
                    Some(start),
                    "found a tab character where an indentation space is expected",
                );
            }
            if self.break_width_at(self.at) == 0 {
                break;
            }
            breaks.push_str(self.take_break());
            *end = self.mark();
        }
        if indent.is_none() {
            *indent = Some(deepest.max(self.indent + 1).max(1));
        }
        Ok(())
    }
}
