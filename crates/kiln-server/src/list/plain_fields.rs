//! The fields of a list with a plain shape, so that the list need not be parsed.
//!
//! A text that is not plain may still be a valid list: it has to be parsed then. A text that is plain is a valid list.

use memchr::{memchr_iter, memmem};

/// A field of a list that has only its fields at the beginning of lines: from its name to the next field.
pub(super) fn field_part<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let bytes = text.as_bytes();
    let is_field = |at: &usize| {
        let begins = *at == 0 || bytes.get(at - 1) == Some(&b'\n');
        let behind = bytes.get(at + name.len()..).unwrap_or_default();
        begins && matches!(behind, [b':'] | [b':', b' ' | b'\n' | b'\r', ..])
    };
    let start = memmem::find_iter(bytes, name).find(is_field)?;
    let part = text.get(start..)?;
    let ends = |at: &usize| {
        let next = part.as_bytes().get(at + 1);
        !matches!(next, None | Some(b' ' | b'-' | b'#' | b'\n' | b'\r'))
    };
    let end = memchr_iter(b'\n', part.as_bytes()).find(ends);
    part.get(..end.map_or(part.len(), |end| end + 1))
}

/// Whether a plain list has items that are plainly resources, or no items, and a configuration that is plainly a
/// mapping, or no configuration.
pub(super) fn has_plain_fields(text: &str) -> bool {
    // A key in quotes or on its own line would not be found.
    let is_strange_key = |line: &str| line.starts_with(['"', '\'', '?', '{', '&', '*', '!', '<']);
    let starts = memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1);
    let mut lines = std::iter::once(0)
        .chain(starts)
        .filter_map(|at| text.get(at..));
    !lines.any(is_strange_key)
        && field_part(text, "items").is_none_or(has_plain_items)
        && field_part(text, "functionConfig").is_none_or(has_plain_mapping)
}

/// Whether the field is a list in which each item is a mapping.
fn has_plain_items(field: &str) -> bool {
    let (first, rest) = field.split_once('\n').unwrap_or((field, ""));
    let mut lines = content_lines(rest).peekable();
    if value(first) == Some("[]") {
        return lines.next().is_none();
    }
    let Some((indent, _)) = lines.peek().copied().filter(|_| value(first) == Some("")) else {
        return false;
    };
    lines
        .filter(|(other, _)| *other <= indent)
        .all(|(other, line)| {
            let item = line.strip_prefix("- ");
            other == indent && item.is_some_and(|item| is_entry(item.trim_start()))
        })
}

/// Whether the field is a mapping.
fn has_plain_mapping(field: &str) -> bool {
    let (first, rest) = field.split_once('\n').unwrap_or((field, ""));
    let next = content_lines(rest).next();
    match value(first) {
        Some("{}") => next.is_none(),
        Some("") => next.is_some_and(|(indent, line)| indent > 0 && is_entry(line)),
        _ => false,
    }
}

/// The value in the line of a field.
fn value(line: &str) -> Option<&str> {
    line.split_once(':').map(|(_, value)| value.trim())
}

/// The lines that are neither blank nor comments, and how far they are indented.
fn content_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().map(|line| {
        let content = line.trim_start_matches(' ');
        (line.len() - content.len(), content)
    });
    lines.filter(|(_, content)| !content.trim().is_empty() && !content.starts_with('#'))
}

/// Whether a line plainly begins with a key.
fn is_entry(line: &str) -> bool {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_./-".contains(byte);
    let length = line.bytes().take_while(|byte| is_name(byte)).count();
    let behind = line.as_bytes().get(length..).unwrap_or_default();
    length > 0 && !line.starts_with("- ") && matches!(behind, [b':'] | [b':', b' ' | b'\r', ..])
}
