//! Making changed trees what they would be after writing and reading them, for those that are handed on as trees.
//!
//! Each resource is read by itself: a comment that go-yaml would carry over into the next one is not.

use kiln_yaml::SequenceStyle;

use crate::budget::is_stopped;
use crate::function::FunctionList;

/// Reads the unsettled resources of a list again from their own text. One that could not be read stays as it is.
pub(crate) fn settle(list: &mut FunctionList) {
    let mut places = std::mem::take(&mut list.unsettled);
    places.dedup();
    for place in places {
        if is_stopped() {
            return;
        }
        let Some(resource) = list.items.get_mut(place) else {
            continue;
        };
        let text = kiln_yaml::to_string(resource.document(), SequenceStyle::Compact);
        if let Ok(Some(document)) = kiln_yaml::parse(&text) {
            *resource.document_mut() = document;
        }
    }
}

/// Whether a text can stand anywhere without quotes and is read as a string, so that a scalar that gets it needs no settling.
pub(crate) fn is_surely_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    // Numbers and times begin with a digit. `null` and `true` have a tag of their own, which settling gives them.
    if bytes.first().is_some_and(u8::is_ascii_digit) || kiln_yaml::is_yaml_1_1_non_string(text) {
        return false;
    }
    let is_edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    is_edge(bytes.first())
        && is_edge(bytes.last())
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._/:@+".contains(byte))
}
