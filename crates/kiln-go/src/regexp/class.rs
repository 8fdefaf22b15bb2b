//! Classes of characters: `[a-z]`, `\d`, `\pL`. Go's Perl classes are ASCII.

use super::RegexpError;
use super::escape::escape;
use super::unicode;

const BAD_RANGE: &str = "invalid character class range";

/// `\d` and the like.
pub(super) fn perl_class(c: char) -> Option<&'static str> {
    Some(match c {
        'd' => "[0-9]",
        'D' => "[^0-9]",
        's' => r"[\t\n\x0C\r ]",
        'S' => r"[^\t\n\x0C\r ]",
        'w' => "[0-9A-Za-z_]",
        'W' => "[^0-9A-Za-z_]",
        _ => return None,
    })
}

/// A Unicode class at the start of a text (`\pL`, `\p{Greek}`, `\P{^Lu}`), and the rest.
pub(super) fn unicode_class(text: &str) -> Result<(String, &str), RegexpError> {
    let is_upper = text.starts_with(r"\P");
    let name = text.get(2..).unwrap_or_default();
    let (name, end) = match name.chars().next() {
        None => return Err(RegexpError::new(BAD_RANGE, text)),
        Some('{') => {
            let Some(end) = text.find('}') else {
                return Err(RegexpError::new(BAD_RANGE, text));
            };
            (text.get(3..end).unwrap_or_default(), end + 1)
        }
        Some(c) => {
            let end = 2 + c.len_utf8();
            (text.get(2..end).unwrap_or_default(), end)
        }
    };
    let (sequence, rest) = text.split_at(end);
    let (is_negated, name) = match name.strip_prefix('^') {
        Some(name) => (!is_upper, name),
        None => (is_upper, name),
    };
    let class = match (name, is_negated) {
        // No text contains surrogates.
        ("Any", false) | ("Cs", true) => r"[\s\S]".to_owned(),
        ("Any", true) | ("Cs", false) => r"[^\s\S]".to_owned(),
        (name, false) => format!(r"\p{{{name}}}"),
        (name, true) => format!(r"\P{{{name}}}"),
    };
    match name == "Any" || unicode::is_class(name) {
        true => Ok((class, rest)),
        false => Err(RegexpError::new(BAD_RANGE, sequence)),
    }
}

/// A class in brackets at the start of a text, and the rest.
pub(super) fn class(text: &str) -> Result<(String, &str), RegexpError> {
    let mut out = String::from("[");
    let mut rest = text.strip_prefix('[').unwrap_or(text);
    if let Some(after) = rest.strip_prefix('^') {
        out.push('^');
        rest = after;
    }
    let mut is_first = true;
    while is_first || !rest.starts_with(']') {
        is_first = false;
        if let Some((name, after)) = named_class(rest)? {
            out.push_str(name);
            rest = after;
            continue;
        }
        let mut escaped = rest.strip_prefix('\\').unwrap_or_default().chars();
        match escaped.next() {
            Some('p' | 'P') => {
                let (class, after) = unicode_class(rest)?;
                out.push_str(&class);
                rest = after;
                continue;
            }
            Some(c) if perl_class(c).is_some() => {
                out.push_str(perl_class(c).unwrap_or_default());
                rest = escaped.as_str();
                continue;
            }
            _ => {}
        }
        let range = rest;
        let (low, mut after) = class_char(rest, text)?;
        let mut high = low;
        if after.len() >= 2 && after.starts_with('-') && !after.starts_with("-]") {
            (high, after) = class_char(after.get(1..).unwrap_or_default(), text)?;
            if high < low {
                let shown = range.get(..range.len() - after.len()).unwrap_or(range);
                return Err(RegexpError::new(BAD_RANGE, shown));
            }
        }
        push_range(&mut out, low, high);
        rest = after;
    }
    out.push(']');
    Ok((out, rest.get(1..).unwrap_or_default()))
}

/// `[:alpha:]`
fn named_class(text: &str) -> Result<Option<(&str, &str)>, RegexpError> {
    if text.len() <= 2 || !text.starts_with("[:") {
        return Ok(None);
    }
    let Some(end) = text.get(2..).and_then(|text| text.find(":]")) else {
        return Ok(None);
    };
    let (class, rest) = text.split_at(end + 4);
    let name = class.trim_start_matches("[:").trim_end_matches(":]");
    let name = name.strip_prefix('^').unwrap_or(name);
    let known = [
        "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
        "space", "upper", "word", "xdigit",
    ];
    match known.contains(&name) {
        true => Ok(Some((class, rest))),
        false => Err(RegexpError::new(BAD_RANGE, class)),
    }
}

fn class_char<'t>(text: &'t str, class: &str) -> Result<(u32, &'t str), RegexpError> {
    let mut rest = text.chars();
    match rest.next() {
        None => Err(RegexpError::new("missing closing ]", class)),
        Some('\\') => escape(text),
        Some(c) => Ok((u32::from(c), rest.as_str())),
    }
}

/// A range without surrogates, which no text contains.
fn push_range(out: &mut String, low: u32, high: u32) {
    const SURROGATES: std::ops::RangeInclusive<u32> = 0xd800..=0xdfff;
    let below = (low, high.min(SURROGATES.start() - 1));
    let above = (low.max(SURROGATES.end() + 1), high);
    let mut is_empty = true;
    for (low, high) in [below, above] {
        if low <= high {
            out.push_str(&format!(r"\x{{{low:x}}}-\x{{{high:x}}}"));
            is_empty = false;
        }
    }
    if is_empty {
        out.push_str(r"[^\s\S]");
    }
}
