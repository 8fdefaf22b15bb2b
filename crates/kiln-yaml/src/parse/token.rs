//! What the scanner hands to the builder.

use crate::node::Style;

/// A position in the text: byte offset, line and column (in characters), all from zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Mark {
    pub(super) index: usize,
    pub(super) line: u32,
    pub(super) column: u32,
}

/// Text that is a part of the source as it stands, or that had to be put together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Piece {
    /// From one offset to another. Inputs are limited so that both fit.
    Span(u32, u32),
    Owned(Box<str>),
}

impl Piece {
    pub(super) const EMPTY: Piece = Piece::Span(0, 0);

    pub(super) fn span(start: usize, end: usize) -> Piece {
        Piece::Span(start as u32, end as u32)
    }

    pub(super) fn is_empty(&self) -> bool {
        match self {
            Piece::Span(start, end) => start == end,
            Piece::Owned(text) => text.is_empty(),
        }
    }

    pub(super) fn as_str<'a>(&'a self, source: &'a str) -> &'a str {
        match self {
            Piece::Span(start, end) => &source[*start as usize..*end as usize],
            Piece::Owned(text) => text,
        }
    }
}

/// Text that grows line by line: a part of the source for as long as it reads just like that, then a text of its own.
#[derive(Default)]
pub(super) struct Lines {
    span: (usize, usize),
    built: String,
}

impl Lines {
    pub(super) fn is_empty(&self) -> bool {
        self.built.is_empty() && self.span.0 == self.span.1
    }

    pub(super) fn as_str<'a>(&'a self, source: &'a str) -> &'a str {
        match self.built.as_str() {
            "" => &source[self.span.0..self.span.1],
            built => built,
        }
    }

    /// Adds a line feed, unless this is the first line, and a piece of text.
    pub(super) fn push(&mut self, piece: &Piece, source: &str) {
        match *piece {
            Piece::Span(start, end) if self.is_empty() => {
                self.span = (start as usize, end as usize);
                return;
            }
            Piece::Span(start, end)
                if self.built.is_empty()
                    && start as usize == self.span.1 + 1
                    && source.as_bytes().get(self.span.1) == Some(&b'\n') =>
            {
                self.span.1 = end as usize;
                return;
            }
            _ => {}
        }
        if !self.is_empty() {
            self.push_break(source);
        }
        self.built_mut(source).push_str(piece.as_str(source));
    }

    /// Adds a line feed.
    pub(super) fn push_break(&mut self, source: &str) {
        if self.built.is_empty() && source.as_bytes().get(self.span.1) == Some(&b'\n') {
            self.span.1 += 1;
        } else {
            self.built_mut(source).push('\n');
        }
    }

    pub(super) fn take(&mut self) -> Piece {
        let Lines { span, built } = std::mem::take(self);
        match built.is_empty() {
            true => Piece::span(span.0, span.1),
            false => Piece::Owned(built.into_boxed_str()),
        }
    }

    fn built_mut(&mut self, source: &str) -> &mut String {
        if self.built.is_empty() {
            self.built.push_str(&source[self.span.0..self.span.1]);
        }
        &mut self.built
    }
}

impl From<String> for Lines {
    fn from(built: String) -> Lines {
        Lines {
            span: (0, 0),
            built,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum TokenKind {
    StreamStart,
    StreamEnd,
    VersionDirective { major: u8, minor: u8 },
    TagDirective(Box<TagParts>),
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias(Piece),
    Anchor(Piece),
    Tag(Box<TagParts>),
    Scalar { text: Piece, style: Style },
}

/// A handle (`!!`) and what follows it, or what it stands for. Boxed in tokens, because it is rare.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct TagParts {
    pub(super) handle: Box<str>,
    pub(super) rest: Box<str>,
}

#[derive(Clone, Debug)]
pub(super) struct YamlToken {
    pub(super) kind: TokenKind,
    pub(super) start: Mark,
    pub(super) end: Mark,
    /// Comments anchored up to here are handed over with the token: its start, or just before it for a block's end.
    pub(super) reach: u32,
}

/// What went wrong and where, before it is turned into an `Error` with line numbers as Go prints them.
#[derive(Clone, Debug)]
pub(super) struct ScanFailure {
    pub(super) message: String,
    /// Where the construct began that could not be completed.
    pub(super) context: Option<Mark>,
    pub(super) problem: Mark,
    /// Go counts the lines of scanner problems from one, those of grammar problems from zero.
    pub(super) stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    Scanner,
    Grammar,
    /// Problems that Go reports without any line.
    Tree,
}

pub(super) type ScanResult<T> = Result<T, Box<ScanFailure>>;
