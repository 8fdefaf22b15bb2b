//! What others wrote, in our messages: short, and never a secret.

use std::fmt;

/// As much of a text as a message needs.
const LENGTH: usize = 300;

/// Why bytes are not JSON of the shape they should have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JsonError {
    text: String,
}

impl JsonError {
    /// Tells only where: the parser's words may repeat a password.
    pub(crate) fn in_secret(error: &serde_json::Error) -> JsonError {
        let what = match error.classify() {
            serde_json::error::Category::Data => "another kind of value is expected",
            serde_json::error::Category::Eof => "it ends too early",
            _ => "it is no JSON",
        };
        JsonError {
            text: format!("{what} at line {} column {}", error.line(), error.column()),
        }
    }
}

impl From<serde_json::Error> for JsonError {
    fn from(error: serde_json::Error) -> JsonError {
        JsonError {
            text: clipped(&error.to_string()),
        }
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for JsonError {}

/// The beginning of a text, without what would move a terminal's cursor.
pub(crate) fn clipped(text: &str) -> String {
    let mut printable = text.chars().filter(|c| !c.is_control());
    let mut clipped: String = printable.by_ref().take(LENGTH).collect();
    if printable.next().is_some() {
        clipped.push('…');
    }
    clipped
}
