//! Merging a change into the user's text, instead of encoding the whole text again.
//!
//! There are three texts: the original, what the encoder makes of the original's tree (`old`), and what it makes of the
//! changed tree (`new`). `old` and `new` differ in nothing but the change, `old` and `original` in nothing but how it is
//! written. So this is a merge of three texts by lines: where `new` is as `old`, the lines of the original stay; where it
//! is not, those of `new` go in, indented as the lines around them; where both differ, `new` wins.
//!
//! The merge of lines does not parse YAML, so the result is only a proposal: it counts if `accept`, which reads it,
//! finds the changed tree in it. Blank lines that are only missing from `new` stay; if that goes wrong, as it may in a
//! block scalar, a second proposal does without them.
//!
//! Everything is linear in the length of the texts.

mod align;
mod indent;
mod merge;
#[cfg(test)]
mod tests;

use merge::{BlankLines, Texts};

/// The original with the change; `None` if no proposal is accepted.
pub(crate) fn keep_lines(
    original: &str,
    old: &str,
    new: &str,
    line_break: &str,
    accept: impl Fn(&str) -> bool,
) -> Option<String> {
    let texts = Texts::new(original, old, new);
    let mut refused = String::new();
    for blank_lines in [BlankLines::Stay, BlankLines::LikeOthers] {
        let proposal = texts.merged(line_break, blank_lines);
        if proposal != refused && accept(&proposal) {
            return Some(proposal);
        }
        refused = proposal;
    }
    None
}
