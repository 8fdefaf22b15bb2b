//! The message in an error response of a registry or a token server.

use serde::Deserialize;

use crate::excerpt::excerpt;
use crate::manifest::null_is_empty;

#[derive(Deserialize)]
struct ErrorBody {
    #[serde(default, deserialize_with = "null_is_empty")]
    errors: Vec<ErrorEntry>,
    /// The message of token servers.
    #[serde(default, deserialize_with = "null_is_empty")]
    details: String,
    /// The message of OAuth 2 token servers.
    #[serde(default, deserialize_with = "null_is_empty")]
    error_description: String,
}

#[derive(Deserialize)]
struct ErrorEntry {
    #[serde(default, deserialize_with = "null_is_empty")]
    code: String,
    #[serde(default, deserialize_with = "null_is_empty")]
    message: String,
}

/// The shortened message of an error response; empty if it has none.
pub(super) fn message(body: &[u8]) -> String {
    let Ok(body) = serde_json::from_slice::<ErrorBody>(body) else {
        return String::new();
    };
    let errors: Vec<String> = body.errors.iter().map(ErrorEntry::text).collect();
    let messages = [errors.join("; "), body.details, body.error_description];
    let message = messages.into_iter().find(|message| !message.is_empty());
    excerpt(&message.unwrap_or_default())
}

impl ErrorEntry {
    fn text(&self) -> String {
        match (self.code.as_str(), self.message.as_str()) {
            (code, "") => code.to_owned(),
            ("", message) => message.to_owned(),
            (code, message) => format!("{message} ({code})"),
        }
    }
}
