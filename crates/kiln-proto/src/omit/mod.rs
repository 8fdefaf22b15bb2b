//! Shortens texts that are too long.

use std::borrow::Cow;

/// `text` in at most `limit` bytes: if it is longer, the middle is replaced by a note with the number of omitted bytes.
/// Beginning and end say most about a program that failed. Cuts fall between characters.
pub fn omit_middle(text: &str, limit: usize) -> Cow<'_, str> {
    omit(text, limit, char::len_utf8)
}

/// `text` shortened to at most `limit` bytes as `grpc-message`, where most characters that are not letters or digits
/// take three bytes for each of their own. The note is that of [`omit_middle`].
pub fn omit_middle_encoded(text: &str, limit: usize) -> Cow<'_, str> {
    omit(text, limit, encoded_len)
}

/// The size of a character in a `grpc-message`, by what the transport encodes.
pub(crate) fn encoded_len(c: char) -> usize {
    let is_encoded = c.is_ascii_control() || " \"#%<>`?{}".contains(c);
    match c.is_ascii() && !is_encoded {
        true => 1,
        false => 3 * c.len_utf8(),
    }
}

fn omit(text: &str, limit: usize, size: impl Fn(char) -> usize) -> Cow<'_, str> {
    let fits = |chars: &mut dyn Iterator<Item = char>, limit: usize| {
        let mut room = limit;
        let fitting = chars.take_while(|c| match room.checked_sub(size(*c)) {
            Some(left) => {
                room = left;
                true
            }
            None => false,
        });
        fitting.map(char::len_utf8).sum::<usize>()
    };
    if fits(&mut text.chars(), limit) == text.len() {
        return Cow::Borrowed(text);
    }
    // No note has more characters.
    let note: usize = NOTE.chars().map(&size).sum();
    let room = limit.saturating_sub(note) / 2;
    let head = fits(&mut text.chars(), room);
    let tail = text.len() - fits(&mut text.chars().rev(), room);
    let omitted = tail - head;
    Cow::Owned(format!(
        "{}[... {omitted} bytes omitted ...]{}",
        &text[..head],
        &text[tail..]
    ))
}

/// The longest note.
const NOTE: &str = "[... 18446744073709551615 bytes omitted ...]    ";

#[cfg(test)]
mod tests;
