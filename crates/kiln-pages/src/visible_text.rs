//! Makes every text of a page visible: names and messages come from packages, callers and functions, and must not hide anything
//! from a reader or break a format.

use std::fmt;

use maud::Render;
use serde::{Deserialize, Serialize};

/// A text with escapes in place of characters that are not shown or change the direction of text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(from = "String")]
pub struct VisibleText(String);

impl VisibleText {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for VisibleText {
    fn from(text: &str) -> VisibleText {
        VisibleText(match has_hidden(text) {
            true => escaped(text),
            false => text.to_owned(),
        })
    }
}

impl From<String> for VisibleText {
    fn from(text: String) -> VisibleText {
        match has_hidden(&text) {
            true => VisibleText(escaped(&text)),
            false => VisibleText(text),
        }
    }
}

impl fmt::Display for VisibleText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Render for VisibleText {
    fn render_to(&self, buffer: &mut String) {
        self.0.render_to(buffer);
    }
}

/// Makes a text visible.
pub(crate) fn make_visible(text: &mut String) {
    if has_hidden(text) {
        *text = escaped(text);
    }
}

/// Most texts are printable ASCII, which is seen at once.
fn has_hidden(text: &str) -> bool {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    !text.as_bytes().iter().all(is_plain) && text.contains(is_hidden)
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    let mut previous = None;
    while let Some(character) = characters.next() {
        let around = [previous, characters.peek().copied()];
        let joins = character == JOINER && around.iter().all(|one| one.is_some_and(is_pictograph));
        match is_hidden(character) && !joins {
            true => out.extend(character.escape_unicode()),
            false => out.push(character),
        }
        previous = Some(character);
    }
    out
}

/// Joins pictographs to one, as of a family; elsewhere it is not seen.
const JOINER: char = '\u{200d}';

fn is_pictograph(character: char) -> bool {
    matches!(character, '\u{2600}'..='\u{27bf}' | '\u{fe0f}' | '\u{1f000}'..='\u{1faff}')
}

/// Control characters except line breaks and tabs, marks of direction, tags, and characters without a width or without ink.
fn is_hidden(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' => true,
        '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' => true,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' => true,
        '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' => true,
        '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' => true,
        '\u{fffe}' | '\u{ffff}' => true,
        '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}' => true,
        character => character.is_control(),
    }
}
