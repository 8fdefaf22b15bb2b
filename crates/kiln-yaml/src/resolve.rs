//! The type and value of plain scalars: go-yaml's resolution, and YAML 1.1's for strings that older readers would not
//! read as strings.

use crate::node::{Kind, KnownTag, Tag};
use crate::noderef::NodeRef;

/// The tag that go-yaml gives to a plain scalar of this text.
pub(crate) fn resolve(text: &str) -> KnownTag {
    let Some(first) = text.bytes().next() else {
        return KnownTag::Null;
    };
    match first {
        b'0'..=b'9' | b'+' | b'-' | b'.' => number_or_time(text, first),
        b'~' | b'n' | b'N' if matches!(text, "~" | "null" | "Null" | "NULL") => KnownTag::Null,
        b't' | b'T' | b'f' | b'F'
            if matches!(text, "true" | "True" | "TRUE" | "false" | "False" | "FALSE") =>
        {
            KnownTag::Bool
        }
        _ => KnownTag::Str,
    }
}

fn number_or_time(text: &str, first: u8) -> KnownTag {
    if first == b'.' || matches!(first, b'+' | b'-') {
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN")
        {
            return KnownTag::Float;
        }
    }
    // A dot first can only be a float, in which underscores must stand between digits.
    if first == b'.' {
        let digit = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
        let mut underscores = text.match_indices('_').map(|(at, _)| at);
        let well_placed = underscores.all(|at| digit(at.wrapping_sub(1)) && digit(at + 1));
        return if well_placed && is_float(&text.replace('_', "")) {
            KnownTag::Float
        } else {
            KnownTag::Str
        };
    }
    if is_timestamp(text) {
        return KnownTag::Timestamp;
    }
    let plain: std::borrow::Cow<'_, str> = if text.contains('_') {
        text.replace('_', "").into()
    } else {
        text.into()
    };
    if base_zero_int(&plain).is_some() {
        KnownTag::Int
    } else if is_float(&plain) {
        KnownTag::Float
    } else if prefixed_int(&plain).is_some() {
        KnownTag::Int
    } else {
        KnownTag::Str
    }
}

/// The value of a text that resolves to an integer.
pub(crate) fn int_value(text: &str) -> Option<i128> {
    let plain = text.replace('_', "");
    base_zero_int(&plain).or_else(|| prefixed_int(&plain))
}

/// The value of a text that resolves to a float, or that was tagged as one.
pub(crate) fn float_value(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") {
        let negative = text.starts_with('-');
        return Some(if negative {
            f64::NEG_INFINITY
        } else {
            f64::INFINITY
        });
    }
    if matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Some(f64::NAN);
    }
    let plain = text.replace('_', "");
    is_float(&plain).then(|| plain.parse().ok()).flatten()
}

/// The text as a 64-bit integer, signed or unsigned, as Go's base-0 parser takes it.
fn base_zero_int(text: &str) -> Option<i128> {
    let (negative, signed, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, true, &text[1..]),
        Some(b'+') => (false, true, &text[1..]),
        _ => (false, false, text),
    };
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', _, ..] => (8, digits.get(1..)?),
        _ => (10, digits),
    };
    let magnitude = i128::from(unsigned(digits, radix)?);
    let limit = 1i128 << 63;
    match (negative, signed) {
        (true, _) => (magnitude <= limit).then_some(-magnitude),
        (false, true) => (magnitude < limit).then_some(magnitude),
        (false, false) => Some(magnitude),
    }
}

fn unsigned(digits: &str, radix: u32) -> Option<u64> {
    let bare = !digits.starts_with(['+', '-']);
    bare.then(|| u64::from_str_radix(digits, radix).ok())
        .flatten()
}

/// go-yaml's own rule for `0b`, `-0b`, `0o` and `-0o`, which also accepts a sign behind the prefix.
fn prefixed_int(text: &str) -> Option<i128> {
    let negative = text.starts_with('-');
    let rest = text.strip_prefix('-').unwrap_or(text);
    let (radix, rest) = match rest.strip_prefix("0b") {
        Some(rest) => (2, rest),
        None => (8, rest.strip_prefix("0o")?),
    };
    if negative {
        let value = i64::from_str_radix(&format!("-{rest}"), radix);
        value.ok().map(i128::from)
    } else {
        let value = i64::from_str_radix(rest, radix).ok().map(i128::from);
        value.or_else(|| unsigned(rest, radix).map(i128::from))
    }
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`, and not too large for 64 bits.
fn is_float(text: &str) -> bool {
    has_float_form(text) && text.parse().is_ok_and(f64::is_finite)
}

fn has_float_form(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digits = |mut at: usize| {
        let start = at;
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        (at, at - start)
    };
    let mut at = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let (after, whole) = digits(at);
    at = after;
    let mut fraction = 0;
    if bytes.get(at) == Some(&b'.') {
        (at, fraction) = digits(at + 1);
    }
    if whole == 0 && fraction == 0 {
        return false;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1;
        at += usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
        let (after, exponent) = digits(at);
        if exponent == 0 {
            return false;
        }
        at = after;
    }
    at == bytes.len()
}

/// A date, or a date and time in one of go-yaml's forms.
fn is_timestamp(text: &str) -> bool {
    let bytes = text.as_bytes();
    // A quick test: four digits and a dash.
    if bytes.len() < 8 || bytes[4] != b'-' || !bytes[..4].iter().all(u8::is_ascii_digit) {
        return false;
    }
    timestamp(text).is_some()
}

fn timestamp(text: &str) -> Option<()> {
    let mut scan = Fields {
        bytes: text.as_bytes(),
        at: 0,
    };
    let year = scan.number(4, 4)?;
    scan.expect(b'-')?;
    let month = scan.number(1, 2)?;
    scan.expect(b'-')?;
    let day = scan.number(1, 2)?;
    if !(1..=12).contains(&month) || day < 1 || day > days_in(year, month) {
        return None;
    }
    if scan.at == scan.bytes.len() {
        return Some(());
    }
    let separator = scan.next()?;
    let zoned = matches!(separator, b'T' | b't');
    if !zoned {
        if separator != b' ' {
            return None;
        }
        while scan.bytes.get(scan.at) == Some(&b' ') {
            scan.at += 1;
        }
    }
    let hour = scan.number(1, 2)?;
    scan.expect(b':')?;
    let minute = scan.number(1, 2)?;
    scan.expect(b':')?;
    let second = scan.number(1, 2)?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    if matches!(scan.bytes.get(scan.at), Some(b'.' | b','))
        && scan.bytes.get(scan.at + 1).is_some_and(u8::is_ascii_digit)
    {
        scan.at += 1;
        while scan.bytes.get(scan.at).is_some_and(u8::is_ascii_digit) {
            scan.at += 1;
        }
    }
    if zoned {
        scan.zone()?;
    }
    (scan.at == scan.bytes.len()).then_some(())
}

struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Fields<'_> {
    fn next(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then_some(())
    }

    fn number(&mut self, least: usize, most: usize) -> Option<u32> {
        let mut value = 0;
        let mut count = 0;
        while count < most && self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            value = value * 10 + u32::from(self.bytes[self.at] - b'0');
            self.at += 1;
            count += 1;
        }
        (count >= least).then_some(value)
    }

    fn zone(&mut self) -> Option<()> {
        match self.next()? {
            b'Z' => Some(()),
            b'+' | b'-' => {
                let hours = self.number(2, 2)?;
                self.expect(b':')?;
                let minutes = self.number(2, 2)?;
                (hours <= 24 && minutes <= 60).then_some(())
            }
            _ => None,
        }
    }
}

fn days_in(year: u32, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            29
        }
        2 => 28,
        _ => 31,
    }
}

/// Whether a YAML 1.1 reader would not read this text as a string.
///
/// kyaml quotes such strings when it sets a field, because Kubernetes' own decoders still follow YAML 1.1. It does so by
/// reading the text as a document, so `a: b` and `[x]` count too; text of several lines never does.
pub fn is_yaml_1_1_non_string(text: &str) -> bool {
    if text.is_empty() || text.contains('\n') {
        return false;
    }
    // Most strings are plain beyond doubt, and need not be read.
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'/' | b'-' | b'_'));
    if is_plain {
        return is_non_string_word(text);
    }
    let Ok(doc) = crate::parse::parse(text) else {
        return false;
    };
    let Some(doc) = doc else {
        return true;
    };
    let root = doc.root();
    // A text that Go cannot decode counts as a string.
    if !is_decodable(root) {
        return false;
    }
    match root.kind() {
        Kind::Scalar => match root.stored_tag() {
            // In Go `!` is a tag like any other.
            Tag::Implicit if has_bare_tag(text) => false,
            Tag::Implicit => is_non_string_word(root.value()),
            Tag::Known(tag) => !matches!(
                tag,
                KnownTag::Str | KnownTag::Binary | KnownTag::Timestamp | KnownTag::Merge
            ),
            Tag::Custom(_) => false,
        },
        Kind::Mapping | Kind::Sequence => true,
        Kind::Alias => false,
    }
}

/// Whether a `!` stands before the first value, perhaps with an anchor.
fn has_bare_tag(text: &str) -> bool {
    text.split_whitespace()
        .take_while(|word| word.starts_with('&') || *word == "!")
        .any(|word| word == "!")
}

/// Whether YAML 1.1 has a meaning for this plain scalar. Timestamps are left as strings.
fn is_non_string_word(text: &str) -> bool {
    !matches!(resolve_yaml_1_1(text), KnownTag::Str | KnownTag::Timestamp)
}

fn resolve_yaml_1_1(text: &str) -> KnownTag {
    const BOOLS: [&str; 16] = [
        "y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "n", "N", "no", "No", "NO", "off", "Off",
        "OFF",
    ];
    match resolve(text) {
        KnownTag::Str if BOOLS.contains(&text) => KnownTag::Bool,
        // YAML 1.1 has no sign behind `0o`.
        KnownTag::Int if base_zero_int(&text.replace('_', "")).is_none() && text.contains('o') => {
            KnownTag::Str
        }
        tag => tag,
    }
}

/// Whether no key is a collection, what is merged are mappings, and every scalar with a tag of YAML's own fits it.
fn is_decodable(root: NodeRef<'_>) -> bool {
    let fits = |node: NodeRef<'_>| match node.stored_tag() {
        Tag::Known(
            tag @ (KnownTag::Null
            | KnownTag::Bool
            | KnownTag::Int
            | KnownTag::Float
            | KnownTag::Timestamp),
        ) if node.is_scalar() => {
            let meant = resolve_yaml_1_1(node.value());
            meant == tag || (meant == KnownTag::Int && tag == KnownTag::Float)
        }
        _ => true,
    };
    let mut decodable = true;
    root.visit(|visit| {
        let key_fits = |key: NodeRef<'_>| match key.kind() {
            Kind::Mapping | Kind::Sequence => false,
            _ if key.stored_tag() == Tag::Known(KnownTag::Merge) => is_mergeable(visit.node),
            Kind::Scalar | Kind::Alias => fits(key),
        };
        decodable &= fits(visit.node) && visit.key().is_none_or(key_fits);
    });
    decodable
}

fn is_mergeable(node: NodeRef<'_>) -> bool {
    let is_one = |node: NodeRef<'_>| matches!(node.kind(), Kind::Mapping | Kind::Alias);
    is_one(node) || (node.is_sequence() && node.items().all(is_one))
}
