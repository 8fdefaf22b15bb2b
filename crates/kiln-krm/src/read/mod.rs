//! Bytes to resources, as kyaml's reader does it.
//!
//! CRLF becomes LF; the text is split at separator lines; the first YAML document of each piece counts; documents
//! that are empty, null or only comments are dropped and not counted. Each resource gets annotations about its file.
//! Nothing is checked beyond that: any mapping is a resource.

mod answer;
mod seqindent;
mod split;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use kiln_yaml::{
    Document, EditError, NodeId, NodeRef, SequenceStyle, Slot, Style, parse_first, parse_single,
};
use memchr::{memchr_iter, memmem};

use crate::annotations::{
    self, COMPACT, INDEX, LEGACY_INDEX, LEGACY_PATH, PACKAGE_PATH, PATH, SEQINDENT, WIDE,
};
use crate::dialect::Dialect;
use crate::legacy_words;
use crate::list::{ResourceList, Wrapper};
use crate::origin::{DocumentRange, Origin, SourceFile};
use crate::resource::Resource;
use crate::secrets::{MASKED, may_have_secrets};

pub use answer::{AnswerError, read_answer};
pub(crate) use seqindent::guess as guess_style;

/// The key under which a sequence that is a whole document is kept, so that it can have annotations.
pub(crate) const BARE_SEQUENCE_KEY: &str = "bareSeqNodeWrappingKey";

/// How the files of a package are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FileOptions<'a> {
    /// The version of the rules.
    pub dialect: Dialect,
    /// The package of the file, annotated on each resource.
    pub package_path: Option<&'a str>,
    /// How text behind a document is treated.
    pub trailing_text: TrailingText,
}

/// How text is treated that follows a document without a line `---`: another JSON object, or a document after `...`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TrailingText {
    /// It is ignored, and lost when the document is written, as in kpt.
    #[default]
    Ignored,
    /// It is an error.
    Refused,
}

/// Why bytes are not resources.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ReadError {
    /// A separator line has content.
    #[error("invalid document separator: {0}")]
    Separator(String),
    /// A document is not YAML.
    #[error("{}{error}", match dialect { Dialect::Current => "MalformedYAMLError: ", Dialect::Legacy => "" })]
    Malformed {
        /// The parser's error; its lines count from the document's first.
        error: kiln_yaml::Error,
        /// The number of lines before the document.
        lines_before: usize,
        /// The version of the message.
        dialect: Dialect,
    },
    /// A document, or its metadata, is not a mapping.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The same with the older command's message.
    #[error("{0}")]
    LegacyEdit(String),
}

/// Reads a file of a package. Lists in it are not unwrapped.
pub fn read_file(
    path: &str,
    bytes: Vec<u8>,
    options: &FileOptions<'_>,
) -> Result<Vec<Resource>, ReadError> {
    read_inner_file(path, path, bytes, options)
}

/// Reads a file of a package inside another one: its resources get their path in the inner package, and their
/// origin has the path in the outer one.
pub fn read_inner_file(
    outer_path: &str,
    path: &str,
    bytes: Vec<u8>,
    options: &FileOptions<'_>,
) -> Result<Vec<Resource>, ReadError> {
    let marks = Marks {
        path: Some(path),
        package_path: options.package_path,
        style: true,
        trailing_text: options.trailing_text,
    };
    read_documents(outer_path, bytes, options.dialect, &marks)
}

/// Reads a file that is not part of a package, such as a function's configuration: its resources get no path.
pub fn read_loose_file(bytes: Vec<u8>, dialect: Dialect) -> Result<Vec<Resource>, ReadError> {
    let marks = Marks {
        path: None,
        package_path: None,
        style: true,
        trailing_text: TrailingText::Ignored,
    };
    read_documents("", bytes, dialect, &marks)
}

/// Reads standard input: a ResourceList, a List or plain documents.
pub fn read_input(bytes: Vec<u8>, dialect: Dialect) -> Result<ResourceList, ReadError> {
    read_input_with(bytes, dialect, TrailingText::Ignored)
}

/// Reads what a user pipes in, and refuses text below a document or passes over it.
pub fn read_input_with(
    bytes: Vec<u8>,
    dialect: Dialect,
    trailing_text: TrailingText,
) -> Result<ResourceList, ReadError> {
    let marks = Marks {
        path: None,
        package_path: None,
        style: true,
        trailing_text,
    };
    read_list(bytes, dialect, &marks)
}

/// Reads the output of a function: the same, but no sequence style is guessed and a bare sequence is an error.
pub fn read_function_output(bytes: Vec<u8>, dialect: Dialect) -> Result<ResourceList, ReadError> {
    let marks = Marks {
        path: None,
        package_path: None,
        style: false,
        trailing_text: TrailingText::Ignored,
    };
    read_list(bytes, dialect, &marks)
}

/// The annotations that each resource gets besides its index.
struct Marks<'a> {
    path: Option<&'a str>,
    package_path: Option<&'a str>,
    /// Whether the sequence style is annotated and bare sequences are wrapped.
    style: bool,
    trailing_text: TrailingText,
}

fn read_list(
    bytes: Vec<u8>,
    dialect: Dialect,
    marks: &Marks<'_>,
) -> Result<ResourceList, ReadError> {
    let mut pieces = Pieces::read(&bytes, dialect, marks)?;
    // Lists may be large, and documents have their own text.
    drop(bytes);
    let mut items: Vec<Resource> = pieces.documents.drain(..).map(Resource::new).collect();
    if pieces.count == 1
        && let Some(wrapper) = items.pop_if(|resource| is_wrapper(resource))
    {
        return Ok(unwrap(wrapper));
    }
    Ok(ResourceList {
        items,
        ..ResourceList::default()
    })
}

fn is_wrapper(resource: &Resource) -> bool {
    let root = resource.root();
    matches!(resource.kind(), "ResourceList" | "List")
        && (root.get("items").is_some() || root.get("functionConfig").is_some())
}

fn unwrap(wrapper: Resource) -> ResourceList {
    let root = wrapper.root();
    let part = |key| root.get(key).map(Document::from_node);
    let (function_config, results) = (part("functionConfig"), part("results"));
    let sequence = root.get("items").map(NodeRef::id);
    let kind = Wrapper {
        api_version: wrapper.api_version().to_owned(),
        kind: wrapper.kind().to_owned(),
    };
    let items = sequence.map(|sequence| wrapper.into_document().into_items(sequence));
    let items = items.into_iter().flatten();
    ResourceList {
        wrapper: Some(kind),
        items: items.map(Resource::item).collect(),
        function_config,
        results,
    }
}

fn read_documents(
    path: &str,
    bytes: Vec<u8>,
    dialect: Dialect,
    marks: &Marks<'_>,
) -> Result<Vec<Resource>, ReadError> {
    let Pieces {
        documents,
        places,
        parsed,
        ..
    } = Pieces::read(&bytes, dialect, marks)?;
    let file = Arc::new(SourceFile::new(path, bytes, dialect, places, parsed));
    let resource = |(index, document)| {
        let origin = Origin::new(file.clone(), index);
        Resource::from_file(document, origin)
    };
    Ok(documents.into_iter().enumerate().map(resource).collect())
}

/// The document in a piece of a file, with its annotations.
pub(crate) fn read_again(chunk: &[u8], dialect: Dialect) -> Option<Document> {
    let marks = Marks {
        path: Some("-"),
        package_path: None,
        style: true,
        trailing_text: TrailingText::Ignored,
    };
    Pieces::read(chunk, dialect, &marks)
        .ok()?
        .documents
        .into_iter()
        .next()
}

/// The documents of a text and the styles guessed for them, without annotations.
pub(crate) fn read_plain(bytes: &[u8]) -> Result<Vec<(Document, SequenceStyle)>, ReadError> {
    let dialect = Dialect::Current;
    let ranges = split_documents(bytes, dialect)?;
    let mut documents = Vec::new();
    for range in ranges {
        if let Some((document, text)) = parse_piece(bytes, range, dialect, TrailingText::Ignored)? {
            documents.push((document, seqindent::guess(&text)));
        }
    }
    Ok(documents)
}

/// The documents of a text. A line that separates none may be part of a value.
fn split_documents(bytes: &[u8], dialect: Dialect) -> Result<Vec<Range<usize>>, ReadError> {
    split::split(bytes, dialect).map_err(|line| {
        ReadError::Separator(match may_have_secrets(bytes) {
            true => MASKED.to_owned(),
            false => line,
        })
    })
}

/// A document and the text it was parsed from.
type ParsedPiece<'a> = (Document, Cow<'a, [u8]>);

/// The first document of a piece; `None` if it is empty.
fn parse_piece(
    bytes: &[u8],
    range: Range<usize>,
    dialect: Dialect,
    trailing_text: TrailingText,
) -> Result<Option<ParsedPiece<'_>>, ReadError> {
    let start = range.start;
    let text = normalized(bytes.get(range).unwrap_or_default());
    let document = match trailing_text {
        TrailingText::Ignored => parse_first(&text),
        TrailingText::Refused => parse_single(&text),
    };
    let document = document.map_err(|error| ReadError::Malformed {
        error: match may_have_secrets(&text) {
            true => error.without_text(),
            false => error,
        },
        lines_before: memchr_iter(b'\n', bytes.get(..start).unwrap_or_default()).count(),
        dialect,
    })?;
    let document = document.filter(|document| document.root().tag() != "!!null");
    Ok(document.map(|document| (document, text)))
}

/// A text that was read.
struct Pieces {
    documents: Vec<Document>,
    /// The position of each document.
    places: Vec<DocumentRange>,
    /// The documents as they were parsed, for those of files.
    parsed: Vec<Option<Document>>,
    /// The number of pieces of the text, empty ones included.
    count: usize,
}

impl Pieces {
    fn read(bytes: &[u8], dialect: Dialect, marks: &Marks<'_>) -> Result<Pieces, ReadError> {
        let ranges = split_documents(bytes, dialect)?;
        let mut pieces = Pieces {
            documents: Vec::new(),
            places: Vec::new(),
            parsed: Vec::new(),
            count: ranges.len(),
        };
        for range in ranges {
            let Some((document, text)) =
                parse_piece(bytes, range.clone(), dialect, marks.trailing_text)?
            else {
                continue;
            };
            let mut document = wrapped(document, marks.style && dialect == Dialect::Current);
            if marks.path.is_some() {
                // Annotations of the user's own that are marks too change with the marks.
                let is_as_parsed = document.is_unchanged()
                    && dialect == Dialect::Current
                    && !annotations::has_families(document.root());
                pieces.parsed.push(is_as_parsed.then(|| document.clone()));
            }
            let marked = marks.set(&mut document, pieces.documents.len(), &text, dialect);
            marked.map_err(|error| match dialect {
                Dialect::Current => ReadError::Edit(error),
                Dialect::Legacy => {
                    let path = legacy_words::path_to_annotations(document.root());
                    ReadError::LegacyEdit(legacy_words::wrong_kind(&error, path))
                }
            })?;
            pieces.documents.push(document);
            pieces.places.push(split::place(bytes, range));
        }
        Ok(pieces)
    }
}

impl Marks<'_> {
    /// Sets the annotations, in the order of their keys.
    fn set(
        &self,
        document: &mut Document,
        index: usize,
        text: &[u8],
        dialect: Dialect,
    ) -> Result<(), EditError> {
        let index = Some(index.to_string());
        let index = index.as_deref();
        let (internal, style) = match dialect {
            Dialect::Current => {
                annotations::mirror_document(document)?;
                let style = || match seqindent::guess(text) {
                    SequenceStyle::Compact => COMPACT,
                    SequenceStyle::Wide => WIDE,
                };
                (true, self.style.then(style))
            }
            Dialect::Legacy => (false, None),
        };
        let marks = [
            (LEGACY_INDEX, index),
            (LEGACY_PATH, self.path),
            (INDEX, index.filter(|_| internal)),
            (PACKAGE_PATH, self.package_path),
            (PATH, self.path.filter(|_| internal)),
            (SEQINDENT, style),
        ];
        let mut annotations = None;
        for (key, value) in marks {
            let Some(value) = value else {
                continue;
            };
            match annotations {
                Some(annotations) => {
                    let value = document.new_string(value);
                    document.set_style(value, Style::SINGLE_QUOTED);
                    document.node_mut(annotations).set(&[key], value)?;
                }
                None => {
                    document.root_mut().set_annotation(key, value)?;
                    annotations = settled_annotations(document.root());
                }
            }
        }
        Ok(())
    }
}

/// The annotations, if setting one more changes nothing else: no other field is removed for being empty.
fn settled_annotations(root: NodeRef<'_>) -> Option<NodeId> {
    let is_empty_field = |parent: NodeRef<'_>, name: &str| {
        parent
            .entries()
            .any(|(key, value)| key.value() == name && value.is_empty())
    };
    let metadata = root.get("metadata")?;
    let annotations = metadata.get("annotations")?;
    let is_settled = annotations.is_mapping()
        && !is_empty_field(root, "metadata")
        && !is_empty_field(metadata, "annotations");
    is_settled.then(|| annotations.id())
}

/// The document, wrapped if it is a bare sequence and wrapping is on.
fn wrapped(mut document: Document, is_wanted: bool) -> Document {
    if is_wanted && document.root().is_sequence() {
        let sequence = document.root().id();
        let key = document.new_scalar(BARE_SEQUENCE_KEY, "");
        let wrapper = document.new_mapping_node();
        document.push_entry(wrapper, key, sequence);
        document.set_root(wrapper);
        // They belong to the document, and the sequence is no longer its root.
        document.set_document_comment(Slot::Head, "");
        document.set_document_comment(Slot::Foot, "");
    }
    document
}

/// The text with every CRLF replaced by LF.
fn normalized(text: &[u8]) -> Cow<'_, [u8]> {
    let mut breaks = memmem::find_iter(text, b"\r\n").peekable();
    if breaks.peek().is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len());
    let mut from = 0;
    for at in breaks {
        out.extend_from_slice(text.get(from..at).unwrap_or_default());
        from = at + 1;
    }
    out.extend_from_slice(text.get(from..).unwrap_or_default());
    Cow::Owned(out)
}
