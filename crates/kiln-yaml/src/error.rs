//! Errors of invalid YAML: the position, what was expected, and the text around it.

use std::fmt;

/// How the only message begins that quotes the text.
const UNKNOWN_ANCHOR: &str = "unknown anchor '";

/// The message about an alias.
pub(crate) fn unknown_anchor(name: &str) -> String {
    format!("{UNKNOWN_ANCHOR}{name}' referenced")
}

/// A position in a text, counted from one; columns count characters.
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
/// users search for it. Its line number is sometimes the line before or the line where the construct began;
/// [`Error::position`] is exact, and [`Error::report`] shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    pub(crate) message: String,
    /// The line go-yaml prints, if it prints one.
    pub(crate) go_line: Option<usize>,
    pub(crate) position: Position,
    pub(crate) snippet: Snippet,
}

impl Error {
    /// The message, without a position.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The exact position of the problem.
    pub fn position(&self) -> Position {
        self.position
    }

    /// The line number that go-yaml reports for this problem, if it reports one.
    pub fn go_line(&self) -> Option<usize> {
        self.go_line
    }

    /// The error that shows nothing of the text, because it is secret.
    #[must_use]
    pub fn without_text(self) -> Error {
        Error {
            message: match self.message.starts_with(UNKNOWN_ANCHOR) {
                true => "unknown anchor referenced".to_owned(),
                false => self.message,
            },
            snippet: Snippet::default(),
            ..self
        }
    }

    /// A detailed message: `file:line:column: what`, then the line with a caret below the column.
    ///
    /// `lines_before` is how many lines of the file stand before the text that was parsed.
    pub fn report(&self, file: &str, lines_before: usize) -> String {
        let line = self.position.line + lines_before;
        let column = self.position.column;
        let mut out = format!("{file}:{line}:{column}: {}", self.message);
        if !self.snippet.text.trim().is_empty() {
            let gutter = line.to_string().len();
            let before = self.snippet.text.chars().take(self.snippet.caret);
            let pad: String = before.map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
            let text = &self.snippet.text;
            out.push_str(&format!("\n{line} | {text}\n{:gutter$} | {pad}^", ""));
        }
        out
    }
}

/// The part of a line that a message shows, and the number of characters before the position.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Snippet {
    text: String,
    caret: usize,
}

impl Snippet {
    /// The maximum of characters shown before the position and from it on.
    const REACH: usize = 80;

    /// Cuts a part out of a line of any length. Control characters are replaced, so that no file can
    /// control a terminal.
    pub(crate) fn around(line: &str, column: usize) -> Snippet {
        let place = column.saturating_sub(1);
        let skipped = place.saturating_sub(Self::REACH);
        let shown = line.chars().skip(skipped).take(2 * Self::REACH);
        let text: String = shown
            .map(|c| match c {
                '\t' => c,
                _ if c.is_control() => char::REPLACEMENT_CHARACTER,
                _ => c,
            })
            .collect();
        Snippet {
            caret: (place - skipped).min(text.chars().count()),
            text,
        }
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
