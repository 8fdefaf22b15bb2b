//! Bytes to text: encodings, and the characters YAML does not allow.
//!
//! The text ends before the first character that is not allowed. What is wrong with that one is kept apart and only
//! reported if the scanner gets near it, because Go reads its input in blocks and may find another problem first.

use std::borrow::Cow;

use super::ordinary::has_ordinary_characters;

/// Go decodes its input in blocks of this many bytes.
const BLOCK: usize = 512;

const INCOMPLETE: &str = "incomplete UTF-8 octet sequence";

/// How far beyond its position Go's scanner looks.
const LOOKAHEAD: usize = 4;

/// Text that may be scanned, and what stopped it.
pub(super) struct Decoded<'a> {
    pub(super) text: Cow<'a, str>,
    pub(super) stop: Option<InvalidCharacter>,
    /// Whether it is known that the text has no tabs and nothing else that is not ordinary.
    pub(super) has_ordinary_characters: bool,
}

/// A character that cannot be part of a YAML text.
#[derive(Clone, Debug)]
pub(super) struct InvalidCharacter {
    pub(super) message: &'static str,
    /// Where in the text the block begins in which Go would notice it.
    pub(super) noticed_from: usize,
}

impl InvalidCharacter {
    /// Whether Go has read the block with the bad character when its scanner is at this offset.
    pub(super) fn is_noticed_at(&self, offset: usize) -> bool {
        offset + LOOKAHEAD >= self.noticed_from
    }
}

pub(super) fn decode(input: &[u8]) -> Decoded<'_> {
    match input {
        [0xFF, 0xFE, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => utf16(rest, u16::from_be_bytes),
        [0xEF, 0xBB, 0xBF, rest @ ..] => utf8(rest, 3),
        _ => utf8(input, 0),
    }
}

fn utf8(input: &[u8], mark: usize) -> Decoded<'_> {
    let (text, mut message) = match std::str::from_utf8(input) {
        Ok(text) => (text, None),
        Err(error) => {
            let (valid, rest) = input.split_at(error.valid_up_to());
            // The prefix was just found valid.
            let text = std::str::from_utf8(valid).unwrap_or_default();
            (text, Some(utf8_problem(rest)))
        }
    };
    let mut end = text.len();
    let has_ordinary_characters = has_ordinary_characters(text.as_bytes());
    if !has_ordinary_characters && let Some(at) = first_disallowed(text.as_bytes()) {
        end = at;
        message = Some("control characters are not allowed");
    }
    Decoded {
        text: Cow::Borrowed(&text[..end]),
        has_ordinary_characters,
        stop: message.map(|message| InvalidCharacter {
            message,
            noticed_from: match message {
                // Only noticed when nothing more comes.
                INCOMPLETE => end + LOOKAHEAD,
                _ => ((end + mark) / BLOCK * BLOCK).saturating_sub(mark),
            },
        }),
    }
}

/// Go's message for an invalid sequence.
fn utf8_problem(rest: &[u8]) -> &'static str {
    let width = match rest.first() {
        Some(0x00..=0x7F) => 1,
        Some(0xC0..=0xDF) => 2,
        Some(0xE0..=0xEF) => 3,
        Some(0xF0..=0xF7) => 4,
        _ => return "invalid leading UTF-8 octet",
    };
    if rest.len() < width {
        return INCOMPLETE;
    }
    let mut value = u32::from(rest[0]) & (0x7F >> width);
    for byte in &rest[1..width] {
        if byte & 0xC0 != 0x80 {
            return "invalid trailing UTF-8 octet";
        }
        value = value << 6 | u32::from(byte & 0x3F);
    }
    let least = [0, 0, 0x80, 0x800, 0x1_0000][width];
    if value < least {
        "invalid length of a UTF-8 sequence"
    } else {
        "invalid Unicode character"
    }
}

/// The first C0 control (but TAB, LF, CR), DEL, C1 control (but NEL), U+FFFE or U+FFFF.
fn first_disallowed(bytes: &[u8]) -> Option<usize> {
    let suspicious = |byte: u8| {
        (byte < 0x20 && !matches!(byte, 9 | 10 | 13)) || matches!(byte, 0x7F | 0xC2 | 0xEF)
    };
    let mut base = 0;
    for block in bytes.chunks(64) {
        // Without an early exit the compiler checks many bytes at a time.
        if block
            .iter()
            .fold(false, |any, byte| any | suspicious(*byte))
        {
            let found = (base..base + block.len()).find(|at| match bytes[*at] {
                0xC2 => matches!(bytes.get(at + 1), Some(0x80..=0x84 | 0x86..=0x9F)),
                0xEF => {
                    bytes.get(at + 1) == Some(&0xBF)
                        && matches!(bytes.get(at + 2), Some(0xBE | 0xBF))
                }
                byte => suspicious(byte),
            });
            if found.is_some() {
                return found;
            }
        }
        base += block.len();
    }
    None
}

fn utf16(input: &[u8], from_bytes: fn([u8; 2]) -> u16) -> Decoded<'static> {
    let units: Vec<u16> = input
        .chunks_exact(2)
        .map(|pair| from_bytes([pair[0], pair[1]]))
        .collect();
    let mut text = String::with_capacity(units.len());
    let mut message = None;
    let mut read = 0;
    for unit in char::decode_utf16(units.iter().copied()) {
        match unit {
            Ok(c) => {
                read += c.len_utf16();
                text.push(c);
            }
            Err(error) => {
                let low = (0xDC00..0xE000).contains(&error.unpaired_surrogate());
                message = Some(if low {
                    "unexpected low surrogate area"
                } else if read + 1 == units.len() {
                    "incomplete UTF-16 surrogate pair"
                } else {
                    "expected low surrogate area"
                });
                break;
            }
        }
    }
    if message.is_none() && input.len() % 2 == 1 {
        message = Some("incomplete UTF-16 character");
    }
    if let Some(at) = first_disallowed(text.as_bytes()) {
        text.truncate(at);
        message = Some("control characters are not allowed");
    }
    let noticed = text.encode_utf16().count() * 2 / BLOCK * BLOCK;
    // From UTF-16 bytes back to an offset in the text.
    let mut seen = 0;
    let noticed_from = text
        .char_indices()
        .find(|(_, c)| {
            let before = seen;
            seen += c.len_utf16() * 2;
            before >= noticed
        })
        .map_or(text.len(), |(at, _)| at);
    Decoded {
        stop: message.map(|message| InvalidCharacter {
            message,
            noticed_from,
        }),
        text: Cow::Owned(text),
        has_ordinary_characters: false,
    }
}
