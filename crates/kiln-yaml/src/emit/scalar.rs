//! Writing a scalar's text in the five styles.

use super::analyze::{is_printable, width};
use super::sink::{Segment, Sink, segments};
use crate::lines::{break_width, is_break};

impl Sink {
    /// Text that is one line: others are never written plain.
    pub(super) fn plain(&mut self, text: &str) {
        if !text.is_empty() {
            self.blank();
            self.out.push_str(text);
            self.whitespace = false;
        }
        self.indention = false;
    }

    /// Line breaks fold: the first of a run is written twice.
    pub(super) fn single_quoted(&mut self, text: &str, indent: usize) {
        self.separate("'");
        let mut after_break = false;
        for segment in segments(text) {
            match segment {
                Segment::Break(line_break) => {
                    if !after_break && line_break == "\n" {
                        self.line_break();
                    }
                    self.copy_break(line_break);
                }
                Segment::Line(line) => {
                    if after_break {
                        self.indent(indent);
                    }
                    for (place, part) in line.split('\'').enumerate() {
                        if place > 0 {
                            self.out.push_str("''");
                        }
                        self.out.push_str(part);
                    }
                    self.indention = false;
                }
            }
            after_break = matches!(segment, Segment::Break(_));
        }
        self.attached("'");
    }

    pub(super) fn double_quoted(&mut self, text: &str) {
        self.separate("\"");
        let bytes = text.as_bytes();
        // A slip in Go: with a byte order mark in front, every character counts as one.
        let escape_all = text.starts_with('\u{FEFF}');
        let mut copied = 0;
        let mut at = 0;
        while at < bytes.len() {
            let byte = bytes[at];
            let width = width(byte);
            let plain = !escape_all
                && is_printable(bytes, at)
                && break_width(bytes, at) == 0
                && !matches!(byte, b'"' | b'\\');
            if !plain {
                self.out.push_str(&text[copied..at]);
                if let Some(c) = text[at..].chars().next() {
                    self.escape(c);
                }
                copied = at + width;
            }
            at += width;
        }
        self.out.push_str(&text[copied..]);
        self.attached("\"");
    }

    fn escape(&mut self, c: char) {
        let short = match c {
            '\0' => '0',
            '\x07' => 'a',
            '\x08' => 'b',
            '\t' => 't',
            '\n' => 'n',
            '\x0B' => 'v',
            '\x0C' => 'f',
            '\r' => 'r',
            '\x1B' => 'e',
            '"' => '"',
            '\\' => '\\',
            '\u{85}' => 'N',
            '\u{A0}' => '_',
            '\u{2028}' => 'L',
            '\u{2029}' => 'P',
            _ => {
                let value = u32::from(c);
                let escaped = match value {
                    0..=0xFF => format!("\\x{value:02X}"),
                    0x100..=0xFFFF => format!("\\u{value:04X}"),
                    _ => format!("\\U{value:08X}"),
                };
                self.out.push_str(&escaped);
                return;
            }
        };
        self.out.push('\\');
        self.out.push(short);
    }

    /// What stands behind `|` or `>`: an indent where the text begins with a blank, and how it ends.
    pub(super) fn block_hints(&mut self, text: &str) {
        let bytes = text.as_bytes();
        if bytes.first() == Some(&b' ') || break_width(bytes, 0) > 0 {
            self.attached("2");
        }
        let mut from_end = text.chars().rev().map(is_break);
        let ends_in_break = from_end.next().unwrap_or(false);
        if !ends_in_break {
            self.attached("-");
        } else if from_end.next().unwrap_or(true) {
            self.attached("+");
        }
    }

    pub(super) fn literal_text(&mut self, text: &str, indent: usize) {
        self.whitespace = true;
        for segment in segments(text) {
            match segment {
                Segment::Break(line_break) => self.copy_break(line_break),
                Segment::Line(line) => {
                    self.indent(indent);
                    self.out.push_str(line);
                    self.indention = false;
                }
            }
        }
    }

    pub(super) fn folded_text(&mut self, text: &str, indent: usize) {
        self.whitespace = true;
        // A slip in Go: whether a break is doubled depends on the start of the text, not on what follows it.
        let starts_blank = {
            let after_breaks = text.trim_start_matches(is_break);
            after_breaks.is_empty() || after_breaks.starts_with([' ', '\t'])
        };
        let mut after_break = true;
        let mut line_began_blank = true;
        for segment in segments(text) {
            match segment {
                Segment::Break(line_break) => {
                    if !after_break && !line_began_blank && line_break == "\n" && !starts_blank {
                        self.line_break();
                    }
                    self.copy_break(line_break);
                }
                Segment::Line(line) => {
                    self.indent(indent);
                    line_began_blank = line.starts_with([' ', '\t']);
                    self.out.push_str(line);
                    self.indention = false;
                }
            }
            after_break = matches!(segment, Segment::Break(_));
        }
    }
}
