//! Texts that are cut.

/// Cuts a text at the end of a character.
pub(super) fn cut(text: &mut String, most: usize) {
    if text.len() > most {
        let end = (0..=most).rev().find(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or_default());
        text.push_str("\n(cut)");
    }
}
