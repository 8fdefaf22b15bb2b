//! In which styles a text can be written so that it reads back the same.

use crate::lines::is_break;

/// The styles a scalar's text allows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allows {
    pub(super) plain_in_flow: bool,
    pub(super) plain_in_block: bool,
    pub(super) single_quoted: bool,
    pub(super) block: bool,
    pub(super) multiline: bool,
}

/// What the text contains that some styles cannot hold.
#[derive(Default)]
struct Contains {
    block_indicators: bool,
    flow_indicators: bool,
    breaks: bool,
    special: bool,
    tabs: bool,
    outer_blank: bool,
    trailing_space: bool,
    break_space: bool,
    space_break: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Previous {
    Space,
    Break,
    Other,
}

pub(super) fn analyze(text: &str) -> Allows {
    if text.is_empty() {
        return Allows {
            plain_in_flow: false,
            plain_in_block: true,
            single_quoted: true,
            block: false,
            multiline: false,
        };
    }
    let bytes = text.as_bytes();
    let seen = classes(bytes);
    if seen & HARD != 0 {
        examine(bytes).allows()
    } else if seen & (LINE | TAB) != 0 {
        lines(bytes, seen)
    } else {
        easy(bytes, seen)
    }
}

/// Whether the text is printable ASCII, or empty, and can be written plain in a block collection.
pub(super) fn is_plain_in_block(text: &str) -> bool {
    let bytes = text.as_bytes();
    let seen = classes(bytes);
    let Some(first) = bytes.first() else {
        return true;
    };
    // Most texts are words without anything that could be an indicator.
    let is_word = seen & !(FLOW | START | START_RELATIVE) == 0
        && CLASSES[*first as usize] & (START | START_RELATIVE) == 0;
    is_word || (seen & (HARD | LINE | TAB) == 0 && easy(bytes, seen).plain_in_block)
}

/// Whether the text is printable ASCII, and every byte passes the test.
pub(super) fn is_printable_line(text: &str, test: impl Fn(u8) -> bool) -> bool {
    let is_printable = |byte: u8| matches!(byte, 0x20..=0x7E);
    text.bytes()
        .fold(true, |all, byte| all & is_printable(byte) & test(byte))
}

/// Whether the text has a line break.
pub(super) fn is_multiline(text: &str) -> bool {
    let seen = classes(text.as_bytes());
    seen & LINE != 0 || (seen & HARD != 0 && text.contains(is_break))
}

// Classes of bytes, as bits.
const SPACE: u8 = 1;
/// Indicators in flow collections, wherever they stand.
const FLOW: u8 = 2;
/// `:` and `#`, which depend on their neighbours.
const RELATIVE: u8 = 4;
/// Controls, other breaks and everything beyond ASCII: looked at one by one.
const HARD: u8 = 8;
/// Indicators at the start only.
const START: u8 = 16;
/// `-` and `?`, which are indicators at the start if a blank follows. (`:` too.)
const START_RELATIVE: u8 = 32;
/// LF.
const LINE: u8 = 64;
const TAB: u8 = 128;

const CLASSES: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b' ' => SPACE,
            b',' | b'[' | b']' | b'{' | b'}' => FLOW | START,
            b'?' => FLOW | START_RELATIVE,
            b':' => RELATIVE | START_RELATIVE,
            b'#' => RELATIVE | START,
            b'&' | b'*' | b'!' | b'|' | b'>' | b'\'' | b'"' | b'%' | b'@' | b'`' => START,
            // With `.` for `...` and `---`, which mark documents.
            b'-' | b'.' => START_RELATIVE,
            0x21..=0x7E => 0,
            b'\n' => LINE,
            b'\t' => TAB,
            _ => HARD,
        };
        byte += 1;
    }
    table
};

fn classes(bytes: &[u8]) -> u8 {
    bytes
        .iter()
        .fold(0, |seen, byte| seen | CLASSES[*byte as usize])
}

/// For printable ASCII: no breaks, no tabs, nothing special.
fn easy(bytes: &[u8], seen: u8) -> Allows {
    let at_start = CLASSES[bytes[0] as usize];
    let (first_blank, last_blank) = (bytes[0] == b' ', bytes.last() == Some(&b' '));
    let indicator_at_start = at_start & START != 0
        || (at_start & START_RELATIVE != 0
            && (bytes.starts_with(b"---")
                || bytes.starts_with(b"...")
                || (bytes[0] != b'.' && matches!(bytes.get(1), None | Some(b' ')))));
    let relative_indicator = seen & RELATIVE != 0 && {
        bytes.last() == Some(&b':') || bytes.windows(2).any(|pair| matches!(pair, b": " | b" #"))
    };
    let plain = !first_blank && !last_blank && !indicator_at_start && !relative_indicator;
    let flow_indicator = seen & FLOW != 0 || (seen & RELATIVE != 0 && bytes.contains(&b':'));
    Allows {
        plain_in_flow: plain && !flow_indicator,
        plain_in_block: plain,
        single_quoted: true,
        block: !last_blank,
        multiline: false,
    }
}

/// For printable ASCII in lines, or with tabs: most scripts and configuration files that are literals.
fn lines(bytes: &[u8], seen: u8) -> Allows {
    let mut space_before_break = false;
    let mut space_after_break = false;
    for at in memchr::memchr_iter(b'\n', bytes) {
        space_before_break |= at > 0 && bytes[at - 1] == b' ';
        space_after_break |= bytes.get(at + 1) == Some(&b' ');
    }
    Allows {
        plain_in_flow: false,
        plain_in_block: false,
        single_quoted: !(space_before_break || space_after_break || seen & TAB != 0),
        block: !(space_before_break || bytes.last() == Some(&b' ')),
        multiline: seen & LINE != 0,
    }
}

fn examine(bytes: &[u8]) -> Contains {
    let mut found = Contains::default();
    if bytes.starts_with(b"---") || bytes.starts_with(b"...") {
        found.block_indicators = true;
        found.flow_indicators = true;
    }
    let mut previous = Previous::Other;
    let mut preceded_by_blank = true;
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        let width = width(byte);
        let followed_by_blank = matches!(bytes.get(at + width), None | Some(b' ' | b'\t'));
        note_indicator(
            &mut found,
            byte,
            at == 0,
            preceded_by_blank,
            followed_by_blank,
        );
        let is_break = crate::lines::break_width(bytes, at) > 0;
        if byte == b'\t' {
            found.tabs = true;
        } else if !is_printable(bytes, at) {
            found.special = true;
        }
        let is_outer = at == 0 || at + width >= bytes.len();
        if byte == b' ' {
            found.outer_blank |= is_outer;
            found.trailing_space |= at + width >= bytes.len();
            found.break_space |= previous == Previous::Break;
            previous = Previous::Space;
        } else if is_break {
            found.breaks = true;
            found.outer_blank |= is_outer;
            found.space_break |= previous == Previous::Space;
            previous = Previous::Break;
        } else {
            previous = Previous::Other;
        }
        preceded_by_blank = matches!(byte, b' ' | b'\t') || is_break;
        at += width;
    }
    found
}

fn note_indicator(
    found: &mut Contains,
    byte: u8,
    is_first: bool,
    preceded_by_blank: bool,
    followed_by_blank: bool,
) {
    let (in_flow, in_block) = match byte {
        b'#' | b'&' | b'*' | b'!' | b'|' | b'>' | b'\'' | b'"' | b'%' | b'@' | b'`' | b','
        | b'[' | b']' | b'{' | b'}'
            if is_first =>
        {
            (true, true)
        }
        b'?' if is_first => (true, followed_by_blank),
        b'-' if is_first => (followed_by_blank, followed_by_blank),
        b':' => (true, followed_by_blank),
        b',' | b'?' | b'[' | b']' | b'{' | b'}' => (true, false),
        b'#' => (preceded_by_blank, preceded_by_blank),
        _ => (false, false),
    };
    found.flow_indicators |= in_flow;
    found.block_indicators |= in_block;
}

impl Contains {
    fn allows(&self) -> Allows {
        let unquotable = self.space_break || self.special;
        let plain =
            !(self.outer_blank || self.break_space || self.tabs || self.breaks || unquotable);
        Allows {
            plain_in_flow: plain && !self.flow_indicators,
            plain_in_block: plain && !self.block_indicators,
            single_quoted: !(self.break_space || self.tabs || unquotable),
            block: !(self.trailing_space || unquotable),
            multiline: self.breaks,
        }
    }
}

pub(super) fn width(byte: u8) -> usize {
    match byte {
        0x00..=0x7F => 1,
        0x80..=0xDF => 2,
        0xE0..=0xEF => 3,
        _ => 4,
    }
}

/// Whether the character at an offset may be written as it is. Those of four bytes never may.
pub(super) fn is_printable(bytes: &[u8], at: usize) -> bool {
    match bytes[at] {
        b'\n' | 0x20..=0x7E => true,
        0xC2 => bytes.get(at + 1).is_some_and(|next| *next >= 0xA0),
        0xC3..=0xEE => true,
        0xEF => !matches!(
            bytes.get(at + 1..at + 3),
            Some([0xBB, 0xBF] | [0xBF, 0xBE | 0xBF])
        ),
        _ => false,
    }
}
