//! Strings as Go sees them: bytes that are usually, but not always, UTF-8.

use kiln_go::lower_char;

/// The first character and its length. What is not UTF-8 is U+FFFD of length 1; nothing has length 0.
pub(crate) fn decode_char(bytes: &[u8]) -> (char, usize) {
    let Some(first) = bytes.first() else {
        return (char::REPLACEMENT_CHARACTER, 0);
    };
    if first.is_ascii() {
        return (char::from(*first), 1);
    }
    let head = bytes.get(..4).unwrap_or(bytes);
    match head.utf8_chunks().next() {
        Some(chunk) => match chunk.valid().chars().next() {
            Some(char) => (char, char.len_utf8()),
            None => (char::REPLACEMENT_CHARACTER, 1),
        },
        None => (char::REPLACEMENT_CHARACTER, 1),
    }
}

/// The last character and its length, by the same rules.
pub(crate) fn decode_last_char(bytes: &[u8]) -> (char, usize) {
    for length in 1..=4.min(bytes.len()) {
        let tail = bytes.get(bytes.len() - length..).unwrap_or_default();
        if let Ok(text) = std::str::from_utf8(tail)
            && let Some(char) = text.chars().next()
        {
            return (char, length);
        }
    }
    (char::REPLACEMENT_CHARACTER, 1.min(bytes.len()))
}

/// All characters with the offsets at which they begin.
pub(crate) fn chars(bytes: &[u8]) -> impl Iterator<Item = (usize, char)> + '_ {
    let mut offset = 0;
    std::iter::from_fn(move || {
        let rest = bytes.get(offset..).filter(|rest| !rest.is_empty())?;
        let (char, length) = decode_char(rest);
        let start = offset;
        offset += length;
        Some((start, char))
    })
}

/// The text with every byte that is not UTF-8 replaced by U+FFFD.
pub(crate) fn transcode(bytes: &[u8]) -> Vec<u8> {
    match std::str::from_utf8(bytes) {
        Ok(_) => bytes.to_vec(),
        Err(_) => chars(bytes)
            .map(|(_, char)| char)
            .collect::<String>()
            .into_bytes(),
    }
}

pub(crate) fn push_char(out: &mut Vec<u8>, char: char) {
    out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
}

/// A string or bytes value in the notation of the language.
pub(crate) fn quote(bytes: &[u8], is_bytes: bool, out: &mut Vec<u8>) {
    if is_bytes {
        out.push(b'b');
    }
    out.push(b'"');
    if bytes
        .iter()
        .all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\'))
    {
        out.extend_from_slice(bytes);
        out.push(b'"');
        return;
    }
    let mut piece = String::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (char, length) = decode_char(rest);
        let (head, tail) = rest.split_at(length.min(rest.len()));
        if length == 1 && char == char::REPLACEMENT_CHARACTER {
            let byte = head.first().copied().unwrap_or_default();
            out.extend_from_slice(format!("\\x{byte:02x}").as_bytes());
        } else {
            piece.clear();
            kiln_go::push_quoted_char(&mut piece, char, '"');
            out.extend_from_slice(piece.as_bytes());
        }
        rest = tail;
    }
    out.push(b'"');
}

/// Whether Go counts the character as white space.
pub(crate) fn is_space(char: char) -> bool {
    match char {
        '\u{1C}'..='\u{1F}' => false,
        _ => char.is_whitespace(),
    }
}

/// Whether Go counts the character as a decimal digit.
pub(crate) fn is_digit(char: char) -> bool {
    // Of the numeric characters, only decimal digits come in runs of ten that start at their zero.
    char.is_ascii_digit() || (!char.is_ascii() && char.is_numeric() && is_decimal(char))
}

/// The zeros of the decimal digits outside of ASCII.
const ZEROS: &[u32] = &[
    0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xDE6,
    0xE50, 0xED0, 0xF20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90, 0x1B50,
    0x1BB0, 0x1C40, 0x1C50, 0xA620, 0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0xFF10,
    0x104A0, 0x10D30, 0x11066, 0x110F0, 0x11136, 0x111D0, 0x112F0, 0x11450, 0x114D0, 0x11650,
    0x116C0, 0x11730, 0x118E0, 0x11950, 0x11C50, 0x11D50, 0x11DA0, 0x11F50, 0x16A60, 0x16AC0,
    0x16B50, 0x1D7CE, 0x1D7D8, 0x1D7E2, 0x1D7EC, 0x1D7F6, 0x1E140, 0x1E2F0, 0x1E4F0, 0x1E950,
    0x1FBF0,
];

fn is_decimal(char: char) -> bool {
    let number = u32::from(char);
    ZEROS
        .iter()
        .any(|zero| (*zero..zero + 10).contains(&number))
}

/// The upper-case character, where there is a single one: Go maps one character to one character.
pub(crate) fn upper(char: char) -> char {
    let mut mapped = char.to_uppercase();
    match (mapped.next(), mapped.next()) {
        (Some(upper), None) => upper,
        _ => char,
    }
}

/// The title-case character, where there is a single one.
pub(crate) fn title(char: char) -> char {
    match char {
        'Ǆ' | 'ǅ' | 'ǆ' => 'ǅ',
        'Ǉ' | 'ǈ' | 'ǉ' => 'ǈ',
        'Ǌ' | 'ǋ' | 'ǌ' => 'ǋ',
        'Ǳ' | 'ǲ' | 'ǳ' => 'ǲ',
        _ => upper(char),
    }
}

/// Whether the character has a case that folding can change.
pub(crate) fn is_cased(char: char) -> bool {
    char.is_ascii_alphabetic() || lower_char(char) != char || upper(char) != char
}
