//! The cursor: moving through the text while counting lines, columns and line breaks.

use super::Scanner;
use crate::lines::{break_width, first_break};
use crate::parse::token::{Mark, ScanFailure, ScanResult, Stage};

impl Scanner<'_> {
    #[inline]
    pub(in crate::parse) fn byte(&self) -> u8 {
        self.byte_at(self.at)
    }

    /// The byte at an offset; 0, which no accepted text contains, beyond the end.
    #[inline]
    pub(in crate::parse) fn byte_at(&self, at: usize) -> u8 {
        self.src.get(at).copied().unwrap_or(0)
    }

    #[inline]
    pub(in crate::parse) fn mark(&self) -> Mark {
        Mark {
            index: self.at,
            line: self.line,
            column: self.column,
        }
    }

    #[inline]
    pub(in crate::parse) fn break_width_at(&self, at: usize) -> usize {
        break_width(self.src, at)
    }

    pub(in crate::parse) fn is_break_or_end(&self, at: usize) -> bool {
        at >= self.src.len() || self.break_width_at(at) > 0
    }

    pub(in crate::parse) fn is_blank_or_end(&self, at: usize) -> bool {
        matches!(self.byte_at(at), b' ' | b'\t') || self.is_break_or_end(at)
    }

    /// Moves over one blank or other ASCII character.
    #[inline]
    pub(in crate::parse) fn skip_ascii(&mut self) {
        if !matches!(self.byte(), b' ' | b'\t') {
            self.newlines = 0;
        }
        self.at += 1;
        self.column += 1;
    }

    /// Moves forward to `end` on the same line; there must be something that is not blank in between.
    #[inline]
    pub(in crate::parse) fn advance_to(&mut self, end: usize) {
        let run = &self.src[self.at..end];
        self.column += run.len() as u32;
        if !run.is_ascii() {
            // Bytes that continue a character have no column of their own.
            let continuing = run.iter().filter(|byte| **byte & 0xC0 == 0x80).count();
            self.column -= continuing as u32;
        }
        self.newlines = 0;
        self.at = end;
    }

    /// Moves over the line break here, if there is one.
    pub(in crate::parse) fn skip_break(&mut self) {
        let width = self.break_width_at(self.at);
        if width > 0 {
            self.at += width;
            self.column = 0;
            self.line += 1;
            self.newlines += 1;
        }
    }

    /// Moves over the line break here and returns its normal form.
    pub(in crate::parse) fn take_break(&mut self) -> &'static str {
        let normal = match (self.byte(), self.byte_at(self.at + 2)) {
            (0xE2, 0xA8) => "\u{2028}",
            (0xE2, _) => "\u{2029}",
            _ => "\n",
        };
        self.skip_break();
        normal
    }

    /// The end of the line that `from` is on, without its break.
    pub(in crate::parse) fn line_end(&self, from: usize) -> usize {
        from + first_break(&self.src[from..])
    }

    /// Whether a mark at column zero stands behind a last line that does not end in a break.
    pub(in crate::parse) fn is_after_last_line(&self, mark: Mark) -> bool {
        mark.index == self.src.len()
            && mark.line > 0
            && !self.text.ends_with(crate::lines::is_break)
    }

    pub(in crate::parse) fn fail<T>(&self, context: Option<Mark>, message: &str) -> ScanResult<T> {
        Err(Box::new(ScanFailure {
            message: message.to_owned(),
            context,
            problem: self.mark(),
            stage: Stage::Scanner,
        }))
    }
}
