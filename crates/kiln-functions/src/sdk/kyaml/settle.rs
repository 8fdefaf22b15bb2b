//! Making a changed tree what it would be after writing and reading it.
//!
//! New text may need quotes, and a new comment may be read as belonging elsewhere, such as in `[a, b]`. The next function
//! of a pipeline is to see what it would see of a program's output. Simple changes need no second reading.

use kiln_krm::Resource;
use kiln_yaml::SequenceStyle;

/// Reads a resource again from its own text. One that could not be read stays as it is: whoever reads the output will
/// say so.
pub(crate) fn settle(resource: &mut Resource) {
    let text = kiln_yaml::to_string(resource.document(), SequenceStyle::Compact);
    if let Ok(Some(document)) = kiln_yaml::parse(&text) {
        *resource.document_mut() = document;
    }
}

/// Whether a text can stand anywhere without quotes, so that its style stays what it was.
pub(crate) fn is_surely_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    is_edge(bytes.first())
        && is_edge(bytes.last())
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._/:@+".contains(byte))
}
