//! Resources to documents: without the reader's annotations, each in its own sequence style.

pub mod folded;
pub mod json;
mod keep_lines;
mod patch;
mod styles;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use kiln_yaml::{Document, EditError, Encoder, SequenceStyle};

use crate::annotations::{LEGACY_INDEX, SEQINDENT, WIDE, reader_keys};
use crate::dialect::Dialect;
use crate::meta;
use crate::read::{BARE_SEQUENCE_KEY, read_plain};
use crate::resource::Resource;
use json::JsonError;
pub(crate) use patch::patch;

/// Why resources cannot be written.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EncodeError {
    /// A resource or its metadata is not a mapping.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// A resource cannot be written as JSON.
    #[error(transparent)]
    Json(#[from] JsonError),
}

/// Writes resources as the documents of one stream, or as JSON if it is one resource of a JSON file.
pub fn write_documents(resources: Vec<Resource>, dialect: Dialect) -> Result<String, EncodeError> {
    let single_json = match (&resources[..], dialect) {
        ([resource], Dialect::Current) => is_json_path(resource.file_place().0),
        _ => false,
    };
    let mut documents = Vec::with_capacity(resources.len());
    for resource in resources {
        documents.push(Unmarked::new(resource, dialect)?);
    }
    match (&documents[..], dialect) {
        ([document], _) if single_json => Ok(json::to_json(&document.document)?),
        (documents, Dialect::Current) => {
            let mut encoder = Encoder::new();
            for unmarked in documents {
                encoder.document(&unwrapped(&unmarked.document), unmarked.style);
            }
            Ok(encoder.finish())
        }
        (documents, Dialect::Legacy) => write_legacy(documents),
    }
}

/// Whether a single resource in this file is written as JSON, by the file's name.
pub(crate) fn is_json_path(path: &str) -> bool {
    path.rsplit('/')
        .next()
        .is_some_and(|name| name.ends_with(".json"))
}

/// A document as it goes into a file.
pub(crate) struct Unmarked {
    pub(crate) document: Document,
    pub(crate) style: SequenceStyle,
}

impl Unmarked {
    pub(crate) fn new(mut resource: Resource, dialect: Dialect) -> Result<Unmarked, EditError> {
        let style = match dialect {
            Dialect::Current => style(&resource),
            Dialect::Legacy => SequenceStyle::Compact,
        };
        resource.clear_annotations(reader_keys(dialect))?;
        Ok(Unmarked {
            document: resource.into_document(),
            style,
        })
    }

    pub(crate) fn to_yaml(&self) -> String {
        kiln_yaml::to_string(&unwrapped(&self.document), self.style)
    }

    /// The text of another document, changed in as few lines as possible to become this one; `None` if it cannot be done
    /// line by line. Without a style, sequences are written as those of the text.
    pub(crate) fn to_yaml_like(
        &self,
        original: &str,
        style: Option<SequenceStyle>,
        line_break: &str,
    ) -> Option<String> {
        let (old, guessed) = only_document(original)?;
        let style = style.unwrap_or(guessed);
        let new = self.in_styles_of(&old);
        let yaml = |document: &Document| kiln_yaml::to_string(document, style);
        let (old_text, new_text) = (yaml(&old), yaml(&new));
        // A text that equals the encoder's, without blank lines, needs no merge.
        if original == old_text && !original.contains("\n\n") {
            return Some(new_text);
        }
        let is_new = |proposal: &str| is_text_of(proposal, &new, &new_text, style);
        keep_lines::keep_lines(original, &old_text, &new_text, line_break, is_new)
    }

    /// Whether a text that was made of another one reads back as this document.
    pub(crate) fn is_text(&self, text: &str, original: &str) -> bool {
        only_document(original).is_some_and(|(old, style)| {
            let new = self.in_styles_of(&old);
            is_text_of(text, &new, &kiln_yaml::to_string(&new, style), style)
        })
    }

    fn in_styles_of(&self, old: &Document) -> Document {
        let mut new = unwrapped(&self.document).into_owned();
        styles::adopt_styles(old, &mut new);
        new
    }

    /// Unlike the original, which writes the wrapper into the file.
    pub(crate) fn to_json(&self) -> Result<String, JsonError> {
        json::to_json(&unwrapped(&self.document))
    }
}

/// Whether a text reads back as a document, which the encoder writes as `encoded`.
fn is_text_of(text: &str, document: &Document, encoded: &str, style: SequenceStyle) -> bool {
    only_document(text).is_some_and(|(read, _)| {
        let again = kiln_yaml::to_string(&read, style);
        read.root().value_eq(document.root()) && lines(&again) == lines(encoded)
    })
}

/// The document of a text, if it is the only one.
pub(crate) fn only_document(text: &str) -> Option<(Document, SequenceStyle)> {
    let mut documents = read_plain(text.as_bytes()).ok()?;
    documents.pop().filter(|_| documents.is_empty())
}

/// The lines of a text that hold fields in their order, and those that are comments, sorted: the encoder itself writes
/// some comments where the parser then finds them for another field.
fn lines(text: &str) -> (Vec<&str>, Vec<&str>) {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let (mut comments, fields): (Vec<&str>, Vec<&str>) =
        lines.partition(|line| line.starts_with('#'));
    comments.sort_unstable();
    (fields, comments)
}

fn style(resource: &Resource) -> SequenceStyle {
    // The last of duplicate annotations counts here, unlike everywhere else.
    let style = resource
        .annotations()
        .filter(|(key, _)| *key == SEQINDENT)
        .last();
    match style {
        Some((_, WIDE)) => SequenceStyle::Wide,
        _ => SequenceStyle::Compact,
    }
}

/// The sequence that was wrapped so that it could have annotations; an empty one stays wrapped.
fn unwrapped(document: &Document) -> Cow<'_, Document> {
    match meta::given(document.root(), BARE_SEQUENCE_KEY) {
        Some(sequence) => Cow::Owned(Document::from_node(sequence)),
        None => Cow::Borrowed(document),
    }
}

/// Writes resources as the older command prints them: with their paths.
pub fn write_legacy_stream(resources: Vec<Resource>) -> Result<String, EncodeError> {
    let mut documents = Vec::with_capacity(resources.len());
    for mut resource in resources {
        resource.clear_annotations(&[LEGACY_INDEX])?;
        documents.push(Unmarked {
            document: resource.into_document(),
            style: SequenceStyle::Compact,
        });
    }
    write_legacy(&documents)
}

/// The older writer decides document by document, by whether its text happens to be JSON; only YAML is separated, and
/// only from YAML before it.
fn write_legacy(documents: &[Unmarked]) -> Result<String, EncodeError> {
    let texts: Vec<String> = documents.iter().map(Unmarked::to_yaml).collect();
    if !texts.iter().any(|text| json::is_valid(text)) {
        let mut encoder = Encoder::new();
        for unmarked in documents {
            encoder.document(&unmarked.document, unmarked.style);
        }
        return Ok(encoder.finish());
    }
    let mut out = String::new();
    let mut has_yaml = false;
    for (unmarked, text) in documents.iter().zip(&texts) {
        if json::is_valid(text) {
            out.push_str(&json::to_json(&unmarked.document)?);
            continue;
        }
        if has_yaml {
            out.push_str("---\n");
        }
        has_yaml = true;
        out.push_str(text);
    }
    Ok(out)
}
