//! Guessing from the text how a document's sequences are indented.

use kiln_yaml::SequenceStyle;
use memchr::{memmem, memrchr};

/// The style of the first sequence below a line of the form `key:`; compact without one.
///
/// It is a guess from lines: a list inside a block scalar counts as well.
pub(crate) fn guess(text: &[u8]) -> SequenceStyle {
    for dash in memmem::find_iter(text, b"- ") {
        let before = text.get(..dash).unwrap_or_default();
        // Only blanks are looked at, because a long line may have many dashes.
        let indent = before
            .iter()
            .rev()
            .take_while(|byte| **byte == b' ')
            .count();
        let above = match before.get(..dash - indent) {
            Some([lines @ .., b'\n']) => Some(lines),
            Some([]) => None,
            _ => continue,
        };
        match key_line_above(above).and_then(key_indent) {
            Some(key_indent) if indent == key_indent => return SequenceStyle::Compact,
            Some(key_indent) if indent == key_indent + 2 => return SequenceStyle::Wide,
            _ => {}
        }
    }
    SequenceStyle::Compact
}

/// The last of some lines that is not a comment.
fn key_line_above(lines: Option<&[u8]>) -> Option<&[u8]> {
    let mut rest = lines;
    while let Some(lines) = rest {
        let (above, line) = split_line(lines);
        let is_comment = line.get(spaces(line)) == Some(&b'#');
        if !is_comment {
            return Some(line);
        }
        rest = above;
    }
    None
}

/// The lines above the last one, if there are any, and the last one.
fn split_line(text: &[u8]) -> (Option<&[u8]>, &[u8]) {
    match memrchr(b'\n', text) {
        Some(end) => (text.get(..end), text.get(end + 1..).unwrap_or_default()),
        None => (None, text),
    }
}

/// The indentation of a line that consists of a key and a colon, a comment aside.
fn key_indent(line: &[u8]) -> Option<usize> {
    let line = line.split(|byte| *byte == b'#').next().unwrap_or_default();
    let end = line.iter().rposition(|byte| *byte != b' ')?;
    let colons = line.iter().filter(|byte| **byte == b':').count();
    (colons == 1 && line.get(end) == Some(&b':')).then(|| spaces(line))
}

fn spaces(line: &[u8]) -> usize {
    line.iter().take_while(|byte| **byte == b' ').count()
}
