//! The pieces that image references are made of, as yes-or-no questions on text.

/// One component of a repository's path: lower-case letters and digits, joined by `.`, `_`, `__` or dashes.
pub(super) fn is_path_component(text: &str) -> bool {
    let is_alphanumeric = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let bytes = text.as_bytes();
    if !bytes.first().is_some_and(is_alphanumeric) || !bytes.last().is_some_and(is_alphanumeric) {
        return false;
    }
    bytes
        .split(is_alphanumeric)
        .all(|run| matches!(run, b"" | b"." | b"_" | b"__") || run.iter().all(|b| *b == b'-'))
}

/// A repository's path below its registry.
pub(super) fn is_repository_path(text: &str) -> bool {
    text.split('/').all(is_path_component)
}

/// A label of a domain name: letters, digits and inner dashes.
pub(super) fn is_domain_label(text: &str) -> bool {
    let bytes = text.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    ends.iter()
        .all(|end| end.is_some_and(u8::is_ascii_alphanumeric))
        && bytes
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || *b == b'-')
}

/// Splits a port off the end of a host; none if what follows the colon is not a number.
pub(super) fn split_port(text: &str) -> Option<(&str, Option<&str>)> {
    let after_brackets = text.rfind(']').unwrap_or(0);
    match text.get(after_brackets..)?.rfind(':') {
        None => Some((text, None)),
        Some(colon) => {
            let (host, port) = text.split_at_checked(after_brackets + colon)?;
            let port = port.get(1..)?;
            let is_number = !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
            is_number.then_some((host, Some(port)))
        }
    }
}

/// A tag: a word character, then at most 127 word characters, dots and dashes.
pub(super) fn is_tag(text: &str) -> bool {
    let is_word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let mut bytes = text.bytes();
    text.len() <= 128
        && bytes.next().is_some_and(is_word)
        && bytes.all(|b| is_word(b) || b == b'.' || b == b'-')
}

/// A digest by its looks: an algorithm's name, a colon and at least 32 hexadecimal digits.
pub(super) fn is_digest(text: &str) -> bool {
    let Some((algorithm, hex)) = text.split_once(':') else {
        return false;
    };
    let is_part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic())
            && part.bytes().all(|b| b.is_ascii_alphanumeric())
    };
    algorithm.split(['-', '_', '+', '.']).all(is_part)
        && hex.len() >= 32
        && hex.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Splits `name[:tag][@digest]` without looking at the parts: name, tag, digest.
pub(super) fn split(text: &str) -> (&str, Option<&str>, Option<&str>) {
    let (rest, digest) = match text.split_once('@') {
        Some((rest, digest)) => (rest, Some(digest)),
        None => (text, None),
    };
    // A colon before the last slash belongs to a port.
    let last_component = rest.rfind('/').map_or(0, |slash| slash + 1);
    let colon = rest
        .get(last_component..)
        .and_then(|last| last.find(':'))
        .map(|colon| last_component + colon);
    match colon.and_then(|colon| rest.split_at_checked(colon)) {
        Some((name, tag)) => (name, tag.get(1..), digest),
        None => (rest, None, digest),
    }
}
