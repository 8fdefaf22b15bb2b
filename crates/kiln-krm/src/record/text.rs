//! Scalars: how Go's encoder chooses a style for a string, and how its decoder reads integers and binary data.

use kiln_yaml::{Document, NodeId, NodeRef, Style};

/// A new string node in the style that Go gives to a string it serialises.
///
/// Strings that resolve to another type are quoted, and so are those that only YAML 1.1 takes for one: its
/// booleans and numbers to the base of 60.
pub(crate) fn new_text(doc: &mut Document, text: &str) -> NodeId {
    let node = doc.new_string(text);
    if is_old_bool(text) || is_base_60(text) {
        doc.set_style(node, Style::DOUBLE_QUOTED);
    }
    node
}

/// Whether YAML 1.1 takes a text for a boolean and its successor does not.
pub fn is_old_bool(text: &str) -> bool {
    matches!(
        text,
        "y" | "Y"
            | "yes"
            | "Yes"
            | "YES"
            | "on"
            | "On"
            | "ON"
            | "n"
            | "N"
            | "no"
            | "No"
            | "NO"
            | "off"
            | "Off"
            | "OFF"
    )
}

/// Whether YAML 1.1 takes a text for a number to the base 60: `[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?`.
pub fn is_base_60(text: &str) -> bool {
    let is_digit_or_line = |c: char| c.is_ascii_digit() || c == '_';
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (digits, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let mut parts = digits.split(':');
    let first_is_fine = parts.next().is_some_and(|first| {
        first.starts_with(|c: char| c.is_ascii_digit()) && first.chars().all(is_digit_or_line)
    });
    let is_sixtieth = |part: &str| match part.as_bytes() {
        [digit] => digit.is_ascii_digit(),
        [b'0'..=b'5', digit] => digit.is_ascii_digit(),
        _ => false,
    };
    let mut sixtieths = parts.peekable();
    first_is_fine
        && sixtieths.peek().is_some()
        && sixtieths.all(is_sixtieth)
        && fraction.chars().all(is_digit_or_line)
}

/// The integer that a scalar means; floats lose their fraction.
pub(super) fn integer(node: NodeRef<'_>) -> Option<i64> {
    let plain = node.value().replace('_', "");
    match node.tag() {
        "!!int" => whole(&plain),
        "!!float" => {
            let number: f64 = plain.parse().ok()?;
            (number <= i64::MAX as f64).then_some(number as i64)
        }
        _ => None,
    }
}

fn whole(text: &str) -> Option<i64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let prefixed = |prefixes: [&str; 2]| prefixes.iter().find_map(|p| digits.strip_prefix(p));
    let (radix, digits) = if let Some(digits) = prefixed(["0x", "0X"]) {
        (16, digits)
    } else if let Some(digits) = prefixed(["0b", "0B"]) {
        (2, digits)
    } else if let Some(digits) = prefixed(["0o", "0O"]) {
        (8, digits)
    } else if digits.len() > 1 && digits.starts_with('0') {
        (8, digits)
    } else {
        (10, digits)
    };
    i64::from_str_radix(&format!("{sign}{digits}"), radix).ok()
}

/// The text that is written in base64; line breaks do not count, and bytes that are not UTF-8 are replaced.
pub fn decode_base64(text: &str) -> Option<String> {
    let symbols: Vec<u8> = text
        .bytes()
        .filter(|b| !matches!(b, b'\r' | b'\n'))
        .collect();
    let mut bytes = Vec::with_capacity(symbols.len() / 4 * 3);
    let mut groups = symbols.chunks(4).peekable();
    while let Some(group) = groups.next() {
        let given = group.iter().take_while(|b| **b != b'=').count();
        let is_padded = group.iter().skip(given).all(|b| *b == b'=');
        let is_whole = given == 4 || (groups.peek().is_none() && given >= 2);
        if group.len() != 4 || !is_padded || !is_whole {
            return None;
        }
        let mut bits = 0u32;
        for symbol in group {
            bits = bits << 6 | sextet(*symbol)?;
        }
        let [_, a, b, c] = bits.to_be_bytes();
        bytes.extend([a, b, c].iter().take(given - 1));
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn sextet(symbol: u8) -> Option<u32> {
    let value = match symbol {
        b'A'..=b'Z' => symbol - b'A',
        b'a'..=b'z' => symbol - b'a' + 26,
        b'0'..=b'9' => symbol - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        b'=' => 0,
        _ => return None,
    };
    Some(u32::from(value))
}
