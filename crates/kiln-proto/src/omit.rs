//! Texts that are too long for where they have to go.

use std::borrow::Cow;

/// `text` in at most `limit` bytes: if it has more, the middle is left out and a note says how many bytes that were.
/// Beginning and end are what says most about a program that failed. Cuts fall between characters.
pub fn omit_middle(text: &str, limit: usize) -> Cow<'_, str> {
    if text.len() <= limit {
        return Cow::Borrowed(text);
    }
    // A note is never longer than this.
    let room = limit.saturating_sub(48) / 2;
    let head = text.floor_char_boundary(room);
    let tail = text.ceil_char_boundary(text.len() - room);
    let omitted = tail - head;
    Cow::Owned(format!(
        "{}[... {omitted} bytes omitted ...]{}",
        &text[..head],
        &text[tail..]
    ))
}

#[cfg(test)]
mod tests;
