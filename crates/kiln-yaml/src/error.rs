//! What a reader of bad YAML is told: where, what was expected, and the text around it.

use std::fmt;

/// A place in a text, counted from one; columns count characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

/// Why a text is not acceptable YAML.
///
/// `Display` gives go-yaml's own message (`yaml: line 3: could not find expected ':'`), because tools and
/// people search for it. Its line number is sometimes the line before or the line where the construct began;
/// [`Error::position`] is exact, and [`Error::report`] shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    pub(crate) message: String,
    /// The line go-yaml prints, if it prints one.
    pub(crate) go_line: Option<usize>,
    pub(crate) position: Position,
    pub(crate) snippet: String,
}

impl Error {
    /// What is wrong, without a place.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The exact place of the problem.
    pub fn position(&self) -> Position {
        self.position
    }

    /// The line number that go-yaml reports for this problem, if it reports one.
    pub fn go_line(&self) -> Option<usize> {
        self.go_line
    }

    /// A message for people: `file:line:column: what`, the line in question and a caret below the place.
    pub fn report(&self, file: &str) -> String {
        let Position { line, column } = self.position;
        let mut out = format!("{file}:{line}:{column}: {}", self.message);
        if !self.snippet.is_empty() {
            let gutter = line.to_string().len();
            let caret_at = column.min(self.snippet.chars().count() + 1);
            let pad: String = self
                .snippet
                .chars()
                .take(caret_at - 1)
                .map(|c| if c == '\t' { '\t' } else { ' ' })
                .collect();
            out.push_str(&format!(
                "\n{line} | {}\n{:gutter$} | {pad}^",
                self.snippet, ""
            ));
        }
        out
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.go_line {
            Some(line) => write!(f, "yaml: line {line}: {}", self.message),
            None => write!(f, "yaml: {}", self.message),
        }
    }
}

impl std::error::Error for Error {}
