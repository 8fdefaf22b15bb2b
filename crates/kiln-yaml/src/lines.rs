//! From byte offsets to lines and columns, with YAML 1.1's line breaks.

use crate::error::Position;

/// The offsets at which lines begin.
#[derive(Clone, Debug)]
pub(crate) struct LineIndex {
    starts: Vec<u32>,
}

impl LineIndex {
    pub(crate) fn new(text: &str) -> LineIndex {
        let bytes = text.as_bytes();
        let mut starts = vec![0];
        let mut at = 0;
        while at < bytes.len() {
            let width = break_width(bytes, at);
            at += width.max(1);
            if width > 0 {
                starts.push(at as u32);
            }
        }
        LineIndex { starts }
    }

    /// An offset beyond the end stands for a line of its own behind the last one.
    pub(crate) fn position(&self, text: &str, offset: usize) -> Position {
        if offset > text.len() {
            return Position {
                line: self.starts.len() + 1,
                column: 1,
            };
        }
        let offset = offset.min(text.len());
        let line = self
            .starts
            .partition_point(|start| *start as usize <= offset);
        let start = self.starts[line - 1] as usize;
        Position {
            line,
            column: text[start..offset].chars().count() + 1,
        }
    }
}

/// The length of the line break at `at`: LF, CR, CRLF, NEL, LS or PS; 0 if there is none.
#[inline]
pub(crate) fn break_width(bytes: &[u8], at: usize) -> usize {
    match bytes.get(at) {
        Some(b'\n') => 1,
        Some(b'\r') => 1 + usize::from(bytes.get(at + 1) == Some(&b'\n')),
        Some(0xC2) if bytes.get(at + 1) == Some(&0x85) => 2,
        Some(0xE2)
            if bytes.get(at + 1) == Some(&0x80)
                && matches!(bytes.get(at + 2), Some(0xA8 | 0xA9)) =>
        {
            3
        }
        _ => 0,
    }
}

/// Where the first line break begins, or the end.
pub(crate) fn first_break(bytes: &[u8]) -> usize {
    let end = memchr::memchr2(b'\n', b'\r', bytes).unwrap_or(bytes.len());
    // The others begin with a byte that is rare but also begins other characters.
    let mut at = 0;
    while let Some(step) = memchr::memchr2(0xC2, 0xE2, &bytes[at..end]) {
        at += step;
        if break_width(bytes, at) > 0 {
            return at;
        }
        at += 1;
    }
    end
}

pub(crate) fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}
