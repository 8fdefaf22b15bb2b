//! Tree to text.

use crate::document::Document;
use crate::node::NodeId;
use crate::noderef::NodeRef;

/// How a block sequence that is a mapping's value is indented.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SequenceStyle {
    /// The dash stands below the key's first character.
    #[default]
    Compact,
    /// The dash is indented by two.
    Wide,
}

/// Writes documents to one stream; the second and later ones are preceded by `---`.
#[derive(Default)]
pub struct Encoder {
    out: String,
}

impl Encoder {
    /// An encoder with nothing written yet.
    pub fn new() -> Encoder {
        Encoder::default()
    }

    /// Writes a document.
    pub fn document(&mut self, _doc: &Document, _style: SequenceStyle) {}

    /// Writes a document in which the sequence `list` has `items` (of any documents) in place of its own.
    ///
    /// This is how a list of resources goes out without being copied into one tree first.
    pub fn document_with_items(&mut self, _doc: &Document, _list: NodeId, _items: &[NodeRef<'_>], _style: SequenceStyle) {}

    /// The text written.
    pub fn finish(self) -> String {
        self.out
    }
}

/// A document as text.
pub fn to_string(doc: &Document, style: SequenceStyle) -> String {
    let mut encoder = Encoder::new();
    encoder.document(doc, style);
    encoder.finish()
}
