//! Text as Go's formatter prints it, because kpt's messages are built with it and are kept to the letter.
//!
//! Only what those messages need: the quoted form and the lower-case form of a string.

pub use kiln_yaml::go_quote as quote;

/// The string in lower case, one character for one character.
pub(crate) fn lower(text: &str) -> String {
    let one = |c: char| match c {
        // The only letter whose full lower case is longer than one character.
        '\u{130}' => 'i',
        _ => c.to_lowercase().next().unwrap_or(c),
    };
    text.chars().map(one).collect()
}
