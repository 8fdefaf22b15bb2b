//! What registries say when they refuse.

use serde::Deserialize;

use crate::manifest::null_is_empty;
use crate::said::clipped;

#[derive(Deserialize)]
struct Body {
    #[serde(default, deserialize_with = "null_is_empty")]
    errors: Vec<Entry>,
    /// What token servers say.
    #[serde(default, deserialize_with = "null_is_empty")]
    details: String,
    /// What they say by OAuth 2.
    #[serde(default, deserialize_with = "null_is_empty")]
    error_description: String,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(default, deserialize_with = "null_is_empty")]
    code: String,
    #[serde(default, deserialize_with = "null_is_empty")]
    message: String,
}

/// The message of an answer, short; empty if there is none.
pub(super) fn message(body: &[u8]) -> String {
    let Ok(body) = serde_json::from_slice::<Body>(body) else {
        return String::new();
    };
    let said: Vec<String> = body.errors.iter().map(Entry::text).collect();
    let said = [said.join("; "), body.details, body.error_description];
    let said = said.into_iter().find(|said| !said.is_empty());
    clipped(&said.unwrap_or_default())
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
