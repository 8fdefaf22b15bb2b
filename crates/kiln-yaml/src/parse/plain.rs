//! Plain and quoted scalars.

use super::scanner::Scanner;
use super::token::{Mark, Piece, ScanResult, TokenKind};
use crate::node::Style;

/// White space inside a scalar, which may turn out to fold two lines into one.
#[derive(Default)]
struct Gap {
    /// The blanks on the line, as long as no break has come.
    blanks: (usize, usize),
    /// The first line break, if there is one, and those after it.
    first_break: &'static str,
    more_breaks: String,
}

impl Gap {
    /// What a folded gap stands for. (After an escaped break there is no first one, and the gap is nothing.)
    fn push_to(&self, out: &mut String) {
        if !self.first_break.starts_with('\n') {
            out.push_str(self.first_break);
            out.push_str(&self.more_breaks);
        } else if self.more_breaks.is_empty() {
            out.push(' ');
        } else {
            out.push_str(&self.more_breaks);
        }
    }
}

/// Bytes at which a run of plain text may end: blanks, breaks, `:` and (in flow collections) indicators.
const ENDS_BLOCK_RUN: [bool; 256] = stop_table(b" \t\n\r:\xC2\xE2\0");
const ENDS_FLOW_RUN: [bool; 256] = stop_table(b" \t\n\r:\xC2\xE2\0,?[]{}");
const ENDS_SINGLE_QUOTED_RUN: [bool; 256] = stop_table(b" \t\n\r'\xC2\xE2\0");
const ENDS_DOUBLE_QUOTED_RUN: [bool; 256] = stop_table(b" \t\n\r\"\\\xC2\xE2\0");

const fn stop_table(stops: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut i = 0;
    while i < stops.len() {
        table[stops[i] as usize] = true;
        i += 1;
    }
    table
}

impl Scanner<'_> {
    pub(super) fn fetch_plain_scalar(&mut self) -> ScanResult<()> {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        self.scan_plain_scalar()
    }

    fn scan_plain_scalar(&mut self) -> ScanResult<()> {
        let start = self.mark();
        let indent = self.indent + 1;
        let mut end = start;
        // Set once a line was folded; before that the value is a part of the source.
        let mut folded: Option<String> = None;
        let mut line_start = self.at;
        let mut crossed_break = false;
        loop {
            if self.column == 0 && self.document_indicator().is_some() || self.byte() == b'#' {
                break;
            }
            let run_end = self.plain_run_end();
            if run_end == self.at {
                break;
            }
            self.advance_to(run_end);
            end = self.mark();
            crossed_break = false;
            if !self.is_blank_or_end(self.at) || self.at >= self.src.len() {
                break;
            }
            let gap = self.skip_plain_gap(indent, start, &mut crossed_break)?;
            let dedented = self.flow_level == 0 && i64::from(self.column) < indent;
            if crossed_break && !dedented && !self.plain_ends_here() {
                let folded = folded.get_or_insert_default();
                folded.push_str(&self.text[line_start..end.index]);
                gap.push_to(folded);
                line_start = self.at;
            }
            if dedented {
                break;
            }
        }
        if crossed_break {
            self.simple_key_allowed = true;
        }
        let text = match folded {
            None => Piece::span(start.index, end.index),
            Some(mut folded) => {
                if line_start < end.index {
                    folded.push_str(&self.text[line_start..end.index]);
                }
                Piece::Owned(folded.into_boxed_str())
            }
        };
        self.tokens.push_back(super::token::YamlToken {
            kind: TokenKind::Scalar {
                text,
                style: Style::NONE,
            },
            reach: start.index as u32,
            start,
            end,
        });
        Ok(())
    }

    /// Whether nothing of a plain scalar can begin here.
    fn plain_ends_here(&self) -> bool {
        self.byte() == b'#'
            || (self.column == 0 && self.document_indicator().is_some())
            || self.plain_run_end() == self.at
    }

    /// The end of the text without blanks that begins here.
    fn plain_run_end(&self) -> usize {
        let in_flow = self.flow_level > 0;
        let ends = if in_flow {
            &ENDS_FLOW_RUN
        } else {
            &ENDS_BLOCK_RUN
        };
        let mut at = self.at;
        loop {
            while at < self.src.len() && !ends[self.src[at] as usize] {
                at += 1;
            }
            let stop = match self.byte_at(at) {
                b':' => self.is_blank_or_end(at + 1),
                0xC2 | 0xE2 => self.break_width_at(at) > 0,
                _ => true,
            };
            if stop {
                return at;
            }
            at += 1;
        }
    }

    fn skip_plain_gap(&mut self, indent: i64, start: Mark, crossed: &mut bool) -> ScanResult<Gap> {
        let mut gap = Gap::default();
        loop {
            match self.byte() {
                b'\t' if *crossed && i64::from(self.column) < indent => {
                    return self.fail(
                        Some(start),
                        "found a tab character that violates indentation",
                    );
                }
                b' ' | b'\t' => self.skip_ascii(),
                _ if self.break_width_at(self.at) > 0 => {
                    if *crossed {
                        gap.more_breaks.push_str(self.take_break());
                    } else {
                        gap.first_break = self.take_break();
                        *crossed = true;
                    }
                }
                _ => return Ok(gap),
            }
        }
    }

    pub(super) fn fetch_quoted_scalar(&mut self, quote: u8) -> ScanResult<()> {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        let start = self.mark();
        self.skip_ascii();
        let text = self.scan_quoted_text(quote, start)?;
        self.skip_ascii();
        let style = if quote == b'\'' {
            Style::SINGLE_QUOTED
        } else {
            Style::DOUBLE_QUOTED
        };
        self.push(TokenKind::Scalar { text, style }, start);
        Ok(())
    }

    /// The text up to the closing quote.
    fn scan_quoted_text(&mut self, quote: u8, start: Mark) -> ScanResult<Piece> {
        let first = self.at;
        let mut built: Option<String> = None;
        // Where the part begins that is not in `built` yet.
        let mut from = self.at;
        loop {
            if self.column == 0 && self.document_indicator().is_some() {
                return self.fail(Some(start), "found unexpected document indicator");
            }
            if self.at >= self.src.len() {
                return self.fail(Some(start), "found unexpected end of stream");
            }
            let crossed_break = self.scan_quoted_run(quote, start, &mut built, &mut from)?;
            if self.byte() == quote {
                break;
            }
            self.scan_quoted_gap(crossed_break, &mut built, &mut from);
        }
        Ok(match built {
            None => Piece::span(first, self.at),
            Some(mut built) => {
                built.push_str(&self.text[from..self.at]);
                Piece::Owned(built.into_boxed_str())
            }
        })
    }

    /// Reads text without blanks and its escapes; true if an escaped line break came last.
    fn scan_quoted_run(
        &mut self,
        quote: u8,
        start: Mark,
        built: &mut Option<String>,
        from: &mut usize,
    ) -> ScanResult<bool> {
        let ends = if quote == b'\'' {
            &ENDS_SINGLE_QUOTED_RUN
        } else {
            &ENDS_DOUBLE_QUOTED_RUN
        };
        loop {
            let mut at = self.at;
            while at < self.src.len() && !ends[self.src[at] as usize] {
                at += 1;
            }
            if at > self.at {
                self.advance_to(at);
            }
            match self.byte() {
                b'\'' if quote == b'\'' && self.byte_at(at + 1) == b'\'' => {
                    self.flush(built, from, at);
                    built.get_or_insert_default().push('\'');
                    self.advance_to(at + 2);
                    *from = self.at;
                }
                b'\\' if quote == b'"' => {
                    self.flush(built, from, at);
                    if self.break_width_at(at + 1) > 0 {
                        self.skip_ascii();
                        self.skip_break();
                        *from = self.at;
                        return Ok(true);
                    }
                    let c = self.scan_escape(start)?;
                    built.get_or_insert_default().push(c);
                    *from = self.at;
                }
                0xC2 | 0xE2 if self.break_width_at(at) == 0 => {
                    let width = if self.byte() == 0xC2 { 2 } else { 3 };
                    self.advance_to(at + width);
                }
                _ => return Ok(false),
            }
        }
    }

    fn flush(&self, built: &mut Option<String>, from: &mut usize, to: usize) {
        built
            .get_or_insert_default()
            .push_str(&self.text[*from..to]);
        *from = to;
    }

    /// Reads blanks and line breaks inside quotes, folding the lines.
    fn scan_quoted_gap(&mut self, escaped: bool, built: &mut Option<String>, from: &mut usize) {
        let mut crossed = escaped;
        let mut gap = Gap {
            blanks: (self.at, self.at),
            ..Gap::default()
        };
        loop {
            if matches!(self.byte(), b' ' | b'\t') {
                self.skip_ascii();
                if !crossed {
                    gap.blanks.1 = self.at;
                }
            } else if self.break_width_at(self.at) > 0 {
                if crossed {
                    gap.more_breaks.push_str(self.take_break());
                } else {
                    self.flush(built, from, gap.blanks.0);
                    gap.first_break = self.take_break();
                    crossed = true;
                }
            } else {
                break;
            }
        }
        if crossed {
            gap.push_to(built.get_or_insert_default());
            *from = self.at;
        }
    }

    /// Reads `\x` and the like.
    fn scan_escape(&mut self, start: Mark) -> ScanResult<char> {
        let simple = match self.byte_at(self.at + 1) {
            b'0' => '\0',
            b'a' => '\x07',
            b'b' => '\x08',
            b't' | b'\t' => '\t',
            b'n' => '\n',
            b'v' => '\x0B',
            b'f' => '\x0C',
            b'r' => '\r',
            b'e' => '\x1B',
            b' ' => ' ',
            b'"' => '"',
            b'\'' => '\'',
            b'\\' => '\\',
            b'N' => '\u{85}',
            b'_' => '\u{A0}',
            b'L' => '\u{2028}',
            b'P' => '\u{2029}',
            b'x' => return self.scan_hex_escape(2, start),
            b'u' => return self.scan_hex_escape(4, start),
            b'U' => return self.scan_hex_escape(8, start),
            _ => return self.fail(Some(start), "found unknown escape character"),
        };
        self.advance_to(self.at + 2);
        Ok(simple)
    }

    fn scan_hex_escape(&mut self, digits: usize, start: Mark) -> ScanResult<char> {
        self.advance_to(self.at + 2);
        let mut value: u32 = 0;
        for step in 0..digits {
            let Some(digit) = (self.byte_at(self.at + step) as char).to_digit(16) else {
                return self.fail(Some(start), "did not find expected hexdecimal number");
            };
            value = value << 4 | digit;
        }
        let Some(c) = char::from_u32(value) else {
            return self.fail(Some(start), "found invalid Unicode character escape code");
        };
        self.advance_to(self.at + digits);
        Ok(c)
    }
}
