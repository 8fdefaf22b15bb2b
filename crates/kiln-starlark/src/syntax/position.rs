//! Positions in a source text.

use std::fmt;

/// A line and a column, both from 1; columns count code points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// The line, from 1; 0 if it is not known.
    pub line: u32,
    /// The column in code points, from 1.
    pub column: u32,
}

impl Position {
    pub(crate) fn new(line: u32, column: u32) -> Position {
        Position { line, column }
    }

    /// The position `columns` further right in the same line.
    pub(crate) fn right(self, columns: u32) -> Position {
        Position {
            line: self.line,
            column: self.column.saturating_add(columns),
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.line, self.column)
    }
}

/// A program that cannot be run: it does not parse, or a name in it is unknown.
///
/// Its text is go.starlark.net's: `name:line:column: message`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}:{position}: {message}")]
pub struct SyntaxError {
    pub name: String,
    pub position: Position,
    pub message: String,
}
