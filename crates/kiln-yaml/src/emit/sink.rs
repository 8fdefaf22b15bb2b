//! The text being written, and what must be known of its end to go on: column, blanks, indentation.

use crate::lines::first_break;

const SPACES: &str = "                                ";

#[derive(Debug)]
pub(super) struct Sink {
    pub(super) out: String,
    /// From this many bytes on there is no need for more: the caller refuses the text.
    pub(super) limit: usize,
    /// Where the current line begins in `out`.
    line_start: usize,
    /// Whether the last character was a blank, or nothing needs separating.
    pub(super) whitespace: bool,
    /// Whether the current line has nothing but indentation (and dashes or question marks) so far.
    pub(super) indention: bool,
    /// The indent at which a foot comment was just written: what follows there is set off by a blank line.
    pub(super) foot_indent: Option<usize>,
}

impl Default for Sink {
    fn default() -> Self {
        Sink {
            out: String::new(),
            limit: usize::MAX,
            line_start: 0,
            whitespace: true,
            indention: true,
            foot_indent: None,
        }
    }
}

impl Sink {
    pub(super) fn with_limit(limit: usize) -> Sink {
        Sink {
            limit,
            ..Sink::default()
        }
    }

    /// Whether the text is longer than it may be.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.out.len() > self.limit
    }

    /// Bytes since the line began. Only compared with small indents, so that bytes do for characters.
    #[inline]
    pub(super) fn column(&self) -> usize {
        self.out.len() - self.line_start
    }

    #[inline]
    pub(super) fn line_break(&mut self) {
        self.out.push('\n');
        self.line_start = self.out.len();
        self.indention = true;
    }

    /// Copies a line break: LF, or another one as it is.
    pub(super) fn copy_break(&mut self, text: &str) {
        if text == "\n" {
            self.line_break();
        } else {
            self.out.push_str(text);
            self.line_start = self.out.len();
            self.indention = true;
        }
    }

    /// Adds what was written elsewhere from the beginning of a line.
    pub(super) fn append(&mut self, other: &Sink) {
        self.indent(0);
        let before = self.out.len();
        if !self.is_full() {
            self.out.push_str(&other.out);
        }
        self.line_start = self.out.len().min(before + other.line_start);
        self.whitespace = other.whitespace;
        self.indention = other.indention;
        self.foot_indent = other.foot_indent;
    }

    /// Goes to a fresh line, or stays on this one if it only has its indentation so far.
    pub(super) fn indent(&mut self, indent: usize) {
        let column = self.column();
        if !self.indention || column > indent || (column == indent && !self.whitespace) {
            self.line_break();
        }
        if self.foot_indent == Some(indent) {
            self.line_break();
        }
        let mut missing = match self.is_full() {
            true => 0,
            false => indent.saturating_sub(self.column()),
        };
        while missing > 0 {
            let step = missing.min(SPACES.len());
            self.out.push_str(&SPACES[..step]);
            missing -= step;
        }
        self.whitespace = true;
        self.foot_indent = None;
    }

    /// Writes `:`, `,` or a bracket that stands right behind what came before.
    #[inline]
    pub(super) fn attached(&mut self, indicator: &str) {
        self.out.push_str(indicator);
        self.whitespace = false;
        self.indention = false;
    }

    /// Writes an indicator that is set off by a blank.
    #[inline]
    pub(super) fn separate(&mut self, indicator: &str) {
        self.blank();
        self.attached(indicator);
    }

    /// Writes `-`, `?` or `:` that counts as indentation.
    #[inline]
    pub(super) fn indenting(&mut self, indicator: &str) {
        self.blank();
        self.out.push_str(indicator);
        self.whitespace = false;
    }

    /// Writes an opening bracket.
    #[inline]
    pub(super) fn opening(&mut self, bracket: &str) {
        self.separate(bracket);
        self.whitespace = true;
    }

    /// A blank, unless there is one already.
    #[inline]
    pub(super) fn blank(&mut self) {
        if !self.whitespace {
            self.out.push(' ');
        }
    }

    /// Writes a comment and ends its line; further lines of it are indented.
    pub(super) fn comment(&mut self, comment: &str, indent: usize) {
        let mut after_break = false;
        for segment in segments(comment) {
            match segment {
                Segment::Break(line_break) => self.copy_break(line_break),
                Segment::Line(line) => {
                    if after_break {
                        self.indent(indent);
                    }
                    if !line.starts_with('#') {
                        self.out.push_str("# ");
                    }
                    self.out.push_str(line);
                    self.indention = false;
                }
            }
            after_break = matches!(segment, Segment::Break(_));
        }
        if !after_break {
            self.line_break();
        }
        self.whitespace = true;
    }
}

/// A text in pieces: line breaks, each on its own (CR and LF are two), and what stands between them.
#[derive(Clone, Copy)]
pub(super) enum Segment<'a> {
    Break(&'a str),
    Line(&'a str),
}

pub(super) fn segments(text: &str) -> impl Iterator<Item = Segment<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = first_break(rest.as_bytes());
        let is_line = end > 0;
        let end = match is_line {
            true => end,
            false => rest.chars().next().map_or(0, char::len_utf8),
        };
        let (segment, after) = rest.split_at(end);
        rest = after;
        Some(match is_line {
            true => Segment::Line(segment),
            false => Segment::Break(segment),
        })
    })
}
