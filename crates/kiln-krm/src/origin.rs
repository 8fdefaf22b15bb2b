//! Where a resource was read from, down to the bytes.
//!
//! A file is split into its documents and the text between them, so that the joined pieces give the
//! file's bytes: preamble, body, lead, body, lead, body, tail.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use kiln_yaml::Document;

use crate::dialect::Dialect;

/// A file that resources were read from.
#[derive(Debug)]
pub struct SourceFile {
    path: String,
    bytes: Vec<u8>,
    dialect: Dialect,
    documents: Vec<DocumentRange>,
    /// The documents as they were parsed, without the reader's annotations; none where they cannot be compared with edits.
    parsed: Vec<Option<Document>>,
    is_utf8: OnceLock<bool>,
}

/// The position of a document in its file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DocumentRange {
    /// Where the parsed text begins.
    pub(crate) start: usize,
    /// Where the replaceable text begins: behind a byte order mark and a separator line.
    pub(crate) body: usize,
    pub(crate) end: usize,
}

/// A document of a file.
#[derive(Clone, Debug)]
pub struct Origin {
    file: Arc<SourceFile>,
    index: usize,
}

impl SourceFile {
    pub(crate) fn new(
        path: &str,
        bytes: Vec<u8>,
        dialect: Dialect,
        documents: Vec<DocumentRange>,
        parsed: Vec<Option<Document>>,
    ) -> SourceFile {
        SourceFile {
            path: path.to_owned(),
            bytes,
            dialect,
            documents,
            parsed,
            is_utf8: OnceLock::new(),
        }
    }

    /// The path, relative to the package.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// All of the file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The number of documents that resources were made of; empty ones do not count.
    pub(crate) fn document_count(&self) -> usize {
        self.documents.len()
    }

    pub(crate) fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Whether the file is UTF-8, so that its pieces can be combined with new text.
    pub(crate) fn is_utf8(&self) -> bool {
        *self
            .is_utf8
            .get_or_init(|| std::str::from_utf8(&self.bytes).is_ok())
    }

    /// The text before the first document: documents without content, a separator, a byte order mark.
    pub fn preamble(&self) -> &[u8] {
        let end = self.documents.first().map_or(0, |first| first.body);
        self.bytes.get(..end).unwrap_or_default()
    }

    /// The text behind the last document: documents without content.
    pub fn tail(&self) -> &[u8] {
        let start = self.documents.last().map_or(0, |last| last.end);
        self.bytes.get(start..).unwrap_or_default()
    }
}

impl Origin {
    pub(crate) fn new(file: Arc<SourceFile>, index: usize) -> Origin {
        Origin { file, index }
    }

    pub fn file(&self) -> &Arc<SourceFile> {
        &self.file
    }

    /// The number of the document in its file, counted as the index annotation is.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The document's own bytes.
    pub fn body(&self) -> &[u8] {
        self.piece(self.place().map(|place| place.body..place.end))
    }

    /// The text of the file before and behind the document's own bytes.
    pub(crate) fn around(&self) -> (&[u8], &[u8]) {
        let Some(place) = self.place() else {
            return Default::default();
        };
        let bytes = self.file.bytes();
        let (before, behind) = (bytes.get(..place.body), bytes.get(place.end..));
        (before.unwrap_or_default(), behind.unwrap_or_default())
    }

    /// The separator before the document, with empty documents before that. Empty for the first document.
    pub fn lead(&self) -> &[u8] {
        let before = self
            .index
            .checked_sub(1)
            .and_then(|before| self.file.documents.get(before));
        self.piece(
            before
                .zip(self.place())
                .map(|(before, this)| before.end..this.body),
        )
    }

    /// The bytes that the document was parsed from.
    pub(crate) fn chunk(&self) -> &[u8] {
        self.piece(self.place().map(|place| place.start..place.end))
    }

    /// The document as it was parsed.
    pub(crate) fn parsed(&self) -> Option<&Document> {
        self.file.parsed.get(self.index)?.as_ref()
    }

    fn place(&self) -> Option<&DocumentRange> {
        self.file.documents.get(self.index)
    }

    fn piece(&self, range: Option<Range<usize>>) -> &[u8] {
        range
            .and_then(|range| self.file.bytes.get(range))
            .unwrap_or_default()
    }
}
