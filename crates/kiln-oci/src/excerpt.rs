//! Text of registries and files in our messages: shortened, and without secrets.

use std::fmt;

/// The longest excerpt, in characters.
const MAX_LENGTH: usize = 300;

/// Why bytes are not JSON of the expected shape.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InvalidJson {
    text: String,
}

impl InvalidJson {
    /// Reports only the position: the parser's message may quote a password.
    pub(crate) fn without_content(error: &serde_json::Error) -> InvalidJson {
        let problem = match error.classify() {
            serde_json::error::Category::Data => "unexpected type of value",
            serde_json::error::Category::Eof => "unexpected end",
            _ => "invalid JSON",
        };
        InvalidJson {
            text: format!(
                "{problem} at line {} column {}",
                error.line(),
                error.column()
            ),
        }
    }
}

impl From<serde_json::Error> for InvalidJson {
    fn from(error: serde_json::Error) -> InvalidJson {
        InvalidJson {
            text: excerpt(&error.to_string()),
        }
    }
}

impl fmt::Display for InvalidJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for InvalidJson {}

/// The beginning of a text, without control characters, which could move a terminal's cursor.
pub(crate) fn excerpt(text: &str) -> String {
    let mut printable = text.chars().filter(|c| !c.is_control());
    let mut excerpt: String = printable.by_ref().take(MAX_LENGTH).collect();
    if printable.next().is_some() {
        excerpt.push('…');
    }
    excerpt
}
