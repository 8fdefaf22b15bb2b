//! Why a signature is not accepted.
//!
//! Texts of signatures are quoted and shortened in messages: they come from a registry.

use crate::MAX_SIGNATURE_BYTES;

/// Why one signature is not accepted.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Rejection {
    #[error("it is larger than the limit of {MAX_SIGNATURE_BYTES} bytes")]
    TooLarge,
    #[error("the {0} is not valid base64")]
    Base64(&'static str),
    #[error("the {part} is not valid JSON: {problem}")]
    Json { part: &'static str, problem: String },
    #[error("{0} is missing or has another type")]
    Field(&'static str),
    #[error("{field} is {found:?}, expected {expected:?}")]
    Value {
        field: &'static str,
        found: String,
        expected: &'static str,
    },
    #[error("the envelope has {0} signatures, expected one")]
    EnvelopeSignatures(usize),
    /// A bundle with `messageSignature`, which cosign writes for files.
    #[error("it is the signature of a file (messageSignature), not of an image")]
    MessageSignature,
    /// The signature was made with another key, or its bytes were altered.
    #[error("it was not made with any of the keys, or was altered")]
    OtherKey,
    #[error("it has a certificate (keyless), which is not supported")]
    Keyless,
    #[error("it is for another digest: {}", .0.join(", "))]
    OtherDigest(Vec<String>),
    #[error("it is for another repository: {found:?}, expected {expected:?}")]
    OtherRepository { found: String, expected: String },
}

/// The longest quoted text, in characters.
const MAX_QUOTED: usize = 200;

/// A text of a signature for a message, without control characters, which could move a terminal's cursor.
pub(crate) fn quoted(text: &str) -> String {
    let mut printable = text.chars().filter(|c| !c.is_control());
    let mut quoted: String = printable.by_ref().take(MAX_QUOTED).collect();
    if printable.next().is_some() {
        quoted.push('…');
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn quoted_texts_are_short_and_printable() {
        assert_eq!(quoted("a\u{1b}[2Jb\n"), "a[2Jb");
        assert_eq!(quoted(&"é".repeat(200)), "é".repeat(200));
        assert_eq!(quoted(&"é".repeat(201)), "é".repeat(200) + "…");
    }
}
