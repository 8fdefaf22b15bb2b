//! Replacement texts with references to groups, as `Regexp.Expand` reads them.

/// Go does not read longer numbers.
const MAX_NUMBER: usize = 100_000_000;

/// A part of a replacement text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReplacementPart<'t> {
    Text(&'t [u8]),
    /// The group with this number: `$1`.
    Number(usize),
    /// The first group with this name that matched: `$name`, `${name}`.
    Name(&'t str),
}

/// The parts of a replacement text. `$$` and a `$` without a name are dollars.
pub fn replacement_parts(template: &[u8]) -> impl Iterator<Item = ReplacementPart<'_>> {
    let mut rest = template;
    std::iter::from_fn(move || {
        let (part, behind) = next(rest)?;
        rest = behind;
        Some(part)
    })
}

fn next(template: &[u8]) -> Option<(ReplacementPart<'_>, &[u8])> {
    let first = template.first()?;
    if *first != b'$' {
        let dollar = template.iter().position(|byte| *byte == b'$');
        let (text, rest) = template.split_at(dollar.unwrap_or(template.len()));
        return Some((ReplacementPart::Text(text), rest));
    }
    let (dollar, rest) = template.split_at(1);
    if let Some(rest) = rest.strip_prefix(b"$") {
        return Some((ReplacementPart::Text(dollar), rest));
    }
    Some(match reference(rest) {
        Some((name, rest)) => (group(name), rest),
        None => (ReplacementPart::Text(dollar), rest),
    })
}

/// The name after a dollar, and the rest.
fn reference(text: &[u8]) -> Option<(&str, &[u8])> {
    let inner = text.strip_prefix(b"{");
    let start = inner.unwrap_or(text);
    let mut length = 0;
    while let Some(c) = first_char(start.get(length..)?) {
        if c != '_' && !c.is_alphabetic() && !c.is_numeric() {
            break;
        }
        length += c.len_utf8();
    }
    let (name, rest) = start.split_at(length);
    let rest = match inner {
        Some(_) => rest.strip_prefix(b"}")?,
        None => rest,
    };
    let name = std::str::from_utf8(name).ok();
    Some((name.filter(|name| !name.is_empty())?, rest))
}

/// A number has no leading zeros.
fn group(name: &str) -> ReplacementPart<'_> {
    let is_number = name.bytes().all(|byte| byte.is_ascii_digit());
    let is_number = is_number && (name == "0" || !name.starts_with('0'));
    let number = name.parse().ok().filter(|number| *number < MAX_NUMBER);
    match number.filter(|_| is_number) {
        Some(number) => ReplacementPart::Number(number),
        None => ReplacementPart::Name(name),
    }
}

fn first_char(bytes: &[u8]) -> Option<char> {
    (1..=4).find_map(|length| {
        let text = std::str::from_utf8(bytes.get(..length)?).ok()?;
        text.chars().next()
    })
}
