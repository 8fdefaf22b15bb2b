//! Splitting a text into documents as in kyaml: by lines that begin with `---`, wherever they are.

use std::ops::Range;

use memchr::{memchr, memmem};

use crate::dialect::Dialect;
use crate::origin::DocumentRange;

/// The documents of a text, final line breaks included; separator lines lie between them.
///
/// A separator at the very beginning belongs to the first document, because it separates nothing. The error is the
/// separator line that has content.
pub(super) fn split(text: &[u8], dialect: Dialect) -> Result<Vec<Range<usize>>, String> {
    let finder = memmem::Finder::new(b"\n---");
    let mut documents = Vec::new();
    let mut start = 0;
    let mut from = 0;
    while let Some(found) = finder.find(text.get(from..).unwrap_or_default()) {
        let line_start = from + found + 1;
        let behind = line_start + 3;
        let rest = text.get(behind..).unwrap_or_default();
        let Some(length) = memchr(b'\n', rest) else {
            break;
        };
        let content = rest.get(..length).unwrap_or_default();
        let next_line = behind + length + 1;
        match dialect {
            Dialect::Current => {
                let content = String::from_utf8_lossy(content);
                let content = content.trim();
                if !content.is_empty() && !content.starts_with('#') {
                    let line = text.get(line_start..next_line).unwrap_or_default();
                    return Err(String::from_utf8_lossy(line).trim().to_owned());
                }
            }
            Dialect::Legacy if content.is_empty() || content == b"\r" => {}
            Dialect::Legacy => {
                from = line_start;
                continue;
            }
        }
        documents.push(start..line_start);
        start = next_line;
        from = next_line;
    }
    if !text.is_empty() {
        documents.push(start..text.len());
    }
    Ok(documents)
}

/// The position of a document in its file.
pub(super) fn place(text: &[u8], document: Range<usize>) -> DocumentRange {
    let Range { start, end } = document;
    let mut body = start;
    let piece = |from| text.get(from..end).unwrap_or_default();
    // Documents are parsed one by one, and only at its beginning is the mark no text: it must not move with the body.
    if piece(body).starts_with(b"\xef\xbb\xbf") {
        body += 3;
    }
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r');
    if let Some(behind) = piece(body).strip_prefix(b"---")
        && let Some(length) = memchr(b'\n', behind)
        && behind.iter().take(length).all(is_blank)
    {
        body += 3 + length + 1;
    }
    DocumentRange { start, body, end }
}
