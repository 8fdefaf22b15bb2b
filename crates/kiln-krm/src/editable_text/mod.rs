//! The text of a resource file that is edited in place: everything but the edit stays as the user wrote it.
//!
//! The edit is made on the tree and then merged into the text by lines: comments, blank lines, padding, indentation, line
//! breaks and further documents of the file stay to the byte. Only where the edit shares a line with the user's layout,
//! as in a mapping in braces over several lines, is that part encoded again. If no such text reads as the changed tree,
//! because the encoder damages it, the first document is encoded again; so is a file that is not UTF-8.

use kiln_yaml::{Document, SequenceStyle, parse_first};

use crate::dialect::Dialect;
use crate::origin::Origin;
use crate::read::read_loose_file;
use crate::write::{Unmarked, only_document};

/// A file that is being edited.
#[derive(Debug)]
pub struct EditableText {
    document: Document,
    /// The bytes of the document in the file; `None` if they cannot be combined with new text.
    origin: Option<Origin>,
    /// The style of sequences if the text has none.
    usual_style: SequenceStyle,
}

impl EditableText {
    /// Reads a Kptfile. Only its first document counts, and its kind is not checked.
    pub fn read_kptfile(kptfile: &[u8]) -> Option<EditableText> {
        EditableText::read_with(kptfile, SequenceStyle::Wide)
    }

    /// Reads the text of another resource, with kpt's style of sequences there.
    pub fn read_resource(resource: &[u8]) -> Option<EditableText> {
        EditableText::read_with(resource, SequenceStyle::Compact)
    }

    fn read_with(file: &[u8], usual_style: SequenceStyle) -> Option<EditableText> {
        let resources = read_loose_file(file.to_vec(), Dialect::Current);
        let first = resources.ok().and_then(|list| list.into_iter().next());
        let origin = first.and_then(|first| first.origin().cloned());
        let body = origin.as_ref().and_then(body_of);
        // With the line breaks that the text is compared with later on.
        let document = body.and_then(only_document).map(|(document, _)| document);
        Some(match document {
            Some(document) => EditableText {
                document,
                origin,
                usual_style,
            },
            None => EditableText {
                document: parse_first(file).ok()??,
                origin: None,
                usual_style,
            },
        })
    }

    /// The tree.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// The tree, to be changed.
    pub fn document_mut(&mut self) -> &mut Document {
        &mut self.document
    }

    /// The edited file; `None` if nothing changed.
    pub fn changed(self) -> Option<Vec<u8>> {
        if self.document.is_unchanged() {
            return None;
        }
        let body = self.origin.as_ref().and_then(body_of);
        let usual = self.usual_style;
        let style = body.map_or(usual, |body| style_of(body, usual));
        let line_break = match body {
            Some(body) if first_line_is_crlf(body) => "\r\n",
            _ => "\n",
        };
        let new = Unmarked {
            document: self.document,
            style,
        };
        let kept = body.and_then(|body| {
            let merged = new.to_yaml_like(body, Some(style), line_break);
            merged.or_else(|| with_last_field(body, &new, line_break))
        });
        let text = kept.unwrap_or_else(|| new.to_yaml().replace('\n', line_break));
        let (before, after) = self.origin.as_ref().map(Origin::around).unwrap_or_default();
        Some([before, text.as_bytes(), after].concat())
    }
}

/// The text with the last field of the tree appended, if that is the only change. Some comments at the end are ambiguous
/// to the encoder, and then no merged text reads as the tree.
fn with_last_field(body: &str, new: &Unmarked, line_break: &str) -> Option<String> {
    let (key, value) = new.document.root().entries().last()?;
    let mut field = Document::new_mapping();
    let root = field.root().id();
    let (key, value) = (field.import(key), field.import(value));
    field.push_entry(root, key, value);
    let field = kiln_yaml::to_string(&field, new.style).replace('\n', line_break);
    let end = if body.ends_with('\n') { "" } else { line_break };
    let text = [body, end, &field].concat();
    let (read, _) = only_document(&text)?;
    let is_all = read.root().value_eq(new.document.root());
    is_all.then_some(text)
}

fn body_of(origin: &Origin) -> Option<&str> {
    std::str::from_utf8(origin.body()).ok()
}

/// The style of the sequences in the text, or the usual one if there are none.
fn style_of(body: &str, usual: SequenceStyle) -> SequenceStyle {
    let has_sequences = body.lines().any(|line| line.trim_start().starts_with("- "));
    match only_document(body) {
        Some((_, style)) if has_sequences => style,
        _ => usual,
    }
}

fn first_line_is_crlf(text: &str) -> bool {
    let first = text.split_inclusive('\n').next();
    first.is_some_and(|line| line.ends_with("\r\n"))
}

#[cfg(test)]
mod tests;
