//! Files of resources, and how they are composed of documents.

use kiln_krm::Origin;

/// Whether a file contains resources, by its name.
pub(crate) fn is_resource_file(name: &str) -> bool {
    name.ends_with(".yaml") || name.ends_with(".yml")
}

/// The text of a document, and its previous position in the file.
pub(crate) type DocumentText = (Option<Origin>, Vec<u8>);

/// Composes a file of documents. The text between documents stays with them.
pub(crate) fn rebuild(pieces: &[DocumentText]) -> Vec<u8> {
    let file = pieces
        .iter()
        .find_map(|(origin, _)| origin.as_ref())
        .map(|origin| origin.file().clone());
    let mut out = file
        .as_ref()
        .map_or_else(Vec::new, |file| file.preamble().to_vec());
    let line_break = match file.as_ref().map(|file| is_crlf(file.bytes())) {
        Some(true) => "\r\n",
        _ => "\n",
    };
    for (number, (origin, body)) in pieces.iter().enumerate() {
        if number > 0 {
            end_line(&mut out, line_break);
            match origin {
                Some(origin) if !origin.lead().is_empty() => {
                    out.extend_from_slice(origin.lead());
                }
                _ => {
                    out.extend_from_slice(b"---");
                    out.extend_from_slice(line_break.as_bytes());
                }
            }
        }
        match number + 1 == pieces.len() {
            true => out.extend_from_slice(body),
            false => out.extend(ended(body)),
        }
    }
    let tail = file.as_ref().map_or(&b""[..], |file| file.tail());
    if !tail.is_empty() && pieces.last().is_some_and(|(origin, _)| origin.is_some()) {
        end_line(&mut out, line_break);
        out.extend_from_slice(tail);
    }
    out
}

/// The text of a document with a final line break. If it ends in a block scalar that a line break would change, the document is
/// re-encoded.
fn ended(body: &[u8]) -> Vec<u8> {
    if body.ends_with(b"\n") {
        return body.to_vec();
    }
    let longer = [body, b"\n"].concat();
    let tree = |text: &[u8]| kiln_yaml::parse_first(text).ok().flatten();
    match (tree(body), tree(&longer)) {
        (Some(one), Some(other)) if !one.root().value_eq(other.root()) => {
            kiln_yaml::to_string(&one, kiln_yaml::SequenceStyle::Compact).into_bytes()
        }
        _ => longer,
    }
}

fn is_crlf(text: &[u8]) -> bool {
    let mut lines = text.split_inclusive(|byte| *byte == b'\n');
    lines.next().is_some_and(|line| line.ends_with(b"\r\n"))
}

fn end_line(out: &mut Vec<u8>, line_break: &str) {
    if !out.is_empty() && !out.ends_with(b"\n") {
        out.extend_from_slice(line_break.as_bytes());
    }
}
