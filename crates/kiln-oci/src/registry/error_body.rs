//! What registries say when they refuse.

use serde::Deserialize;

const MAX_MESSAGE: usize = 300;

#[derive(Deserialize)]
struct Body {
    #[serde(default)]
    errors: Vec<Entry>,
    /// What token servers say.
    #[serde(default)]
    details: String,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: String,
}

/// The message of an answer, short; empty if there is none.
pub(super) fn message(body: &[u8]) -> String {
    let Ok(body) = serde_json::from_slice::<Body>(body) else {
        return String::new();
    };
    let said: Vec<String> = body.errors.iter().map(Entry::text).collect();
    let said = match said.is_empty() {
        true => body.details,
        false => said.join("; "),
    };
    let printable = said.chars().filter(|c| !c.is_control());
    printable.take(MAX_MESSAGE).collect()
}

impl Entry {
    fn text(&self) -> String {
        match (self.code.as_str(), self.message.as_str()) {
            (code, "") => code.to_owned(),
            ("", message) => message.to_owned(),
            (code, message) => format!("{message} ({code})"),
        }
    }
}
