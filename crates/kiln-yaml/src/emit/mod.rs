//! Tree to text.
//!
//! The writer walks the tree with a stack of its own and keeps go-yaml's habits: four comment slots that a node only
//! overwrites where it has a comment, foot comments that ask for a blank line, and no folding ever.

mod analyze;
mod scalar;
mod sink;
mod walk;

use crate::document::Document;
use crate::node::NodeId;
use crate::noderef::NodeRef;
use sink::Sink;
use walk::Walk;

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
    sink: Sink,
    /// Comments that no node of an earlier document has written.
    left_over: [String; 5],
    has_documents: bool,
}

impl Encoder {
    /// An encoder with nothing written yet.
    pub fn new() -> Encoder {
        Encoder::default()
    }

    /// Writes a document.
    pub fn document(&mut self, doc: &Document, style: SequenceStyle) {
        self.write(doc, style, None);
    }

    /// Writes a document in which the sequence `list` has `items` (of any documents) in place of its own.
    ///
    /// This is how a list of resources goes out without being copied into one tree first.
    pub fn document_with_items(
        &mut self,
        doc: &Document,
        list: NodeId,
        items: &[NodeRef<'_>],
        style: SequenceStyle,
    ) {
        self.write(doc, style, Some((list, items)));
    }

    /// The text written.
    pub fn finish(self) -> String {
        self.sink.out
    }

    fn write(
        &mut self,
        doc: &Document,
        style: SequenceStyle,
        replaced: Option<(NodeId, &[NodeRef<'_>])>,
    ) {
        let carried = std::mem::take(&mut self.left_over);
        let items = replaced.map_or([].as_slice(), |(_, items)| items);
        let items: usize = items.iter().map(|item| item.doc.span.len()).sum();
        self.sink.out.reserve(doc.span.len() + items);
        let walk = Walk::new(&mut self.sink, style, replaced, &carried);
        let left_over = walk.document(doc, self.has_documents);
        self.left_over = left_over.map(str::to_owned);
        self.has_documents = true;
    }
}

/// A document as text.
pub fn to_string(doc: &Document, style: SequenceStyle) -> String {
    let mut encoder = Encoder::new();
    encoder.document(doc, style);
    encoder.finish()
}
