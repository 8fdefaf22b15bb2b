//! Guessing from the text how a document's sequences are indented.

use kiln_yaml::SequenceStyle;

/// The style of the first sequence below a line of the form `key:`; compact without one.
///
/// It is a guess from lines: a list inside a block scalar counts as well.
pub(crate) fn guess(text: &[u8]) -> SequenceStyle {
    let mut key_line: &[u8] = b"";
    for line in text.split(|byte| *byte == b'\n') {
        let indent = spaces(line);
        let content = line.get(indent..).unwrap_or_default();
        if content.starts_with(b"- ")
            && let Some(key_indent) = key_indent(key_line)
        {
            if indent == key_indent {
                return SequenceStyle::Compact;
            }
            if indent == key_indent + 2 {
                return SequenceStyle::Wide;
            }
        }
        if !content.starts_with(b"#") {
            key_line = line;
        }
    }
    SequenceStyle::Compact
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
