//! Tree to text.
//!
//! The writer walks the tree with a stack of its own and keeps go-yaml's habits: four comment slots that a node only
//! overwrites where it has a comment, foot comments that ask for a blank line, and no folding ever.

mod analyze;
mod scalar;
mod sink;
mod walk;

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::thread;

use crate::allowance::{Allowance, may_build};
use crate::document::Document;
use crate::node::NodeId;
use crate::noderef::NodeRef;
use sink::Sink;
use walk::{EmitWalk, Later, Part};

/// Fewer items than this are not worth another thread.
const ITEMS_PER_THREAD: usize = 64;

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
pub struct Encoder {
    sink: Sink,
    /// Comments that no node of an earlier document has written.
    left_over: [String; 5],
    has_documents: bool,
}

impl Default for Encoder {
    fn default() -> Encoder {
        Encoder::new()
    }
}

impl Encoder {
    /// An encoder with nothing written yet. It writes no more than the allowance of the thread has left.
    pub fn new() -> Encoder {
        let left = Allowance::current().map(|allowance| allowance.left());
        Encoder::with_limit(left.map_or(usize::MAX, |left| {
            usize::try_from(left).unwrap_or(usize::MAX)
        }))
    }

    /// An encoder that stops soon after this many bytes. What it has written then is not a whole document.
    pub fn with_limit(limit: usize) -> Encoder {
        Encoder {
            sink: Sink::with_limit(limit),
            left_over: Default::default(),
            has_documents: false,
        }
    }

    /// Whether the text is longer than it may be, and not whole.
    pub fn is_over_limit(&self) -> bool {
        self.sink.is_full()
    }

    /// Writes a document.
    pub fn document(&mut self, doc: &Document, style: SequenceStyle) {
        let carried = std::mem::take(&mut self.left_over);
        self.write(doc, style, None, VecDeque::new(), &carried);
    }

    /// Writes a document in which the sequence `list` has `items` (of any documents) instead of its own.
    ///
    /// This is how a list of resources goes out without being copied into one tree first.
    /// Several threads write it if there are enough items; the text does not depend on how many.
    pub fn document_with_items(
        &mut self,
        threads: NonZeroUsize,
        doc: &Document,
        list: NodeId,
        items: &[NodeRef<'_>],
    ) {
        let style = SequenceStyle::Compact;
        let threads = threads.get().min(items.len() / ITEMS_PER_THREAD).max(1);
        let mut parts = items.chunks(items.len().div_ceil(threads).max(1));
        let first = parts.next().unwrap_or(&[]);
        let list_node = doc.node(list);
        let carried = std::mem::take(&mut self.left_over);
        let limit = self.sink.limit;
        thread::scope(|scope| {
            let later = parts.map(|items| {
                let write = move || Part::write(list_node, items, style, limit);
                let thread = thread::Builder::new().spawn_scoped(scope, write);
                let written = move || match thread {
                    Ok(part) => part.join().unwrap_or_else(|panic| resume_unwind(panic)),
                    // The system gives no more threads: this one writes the part when its turn comes.
                    Err(_) => write(),
                };
                Later {
                    items,
                    written: Box::new(written),
                }
            });
            let later = later.collect();
            self.write(doc, style, Some((list, first)), later, &carried);
        });
    }

    /// The text written. If the allowance of the thread ended it early, that allowance is exceeded.
    pub fn finish(self) -> String {
        may_build(self.sink.out.len());
        self.sink.out
    }

    fn write<'a>(
        &mut self,
        doc: &'a Document,
        style: SequenceStyle,
        replaced: Option<(NodeId, &'a [NodeRef<'a>])>,
        later: VecDeque<Later<'a, '_>>,
        carried: &'a [String; 5],
    ) {
        let items = replaced.map_or([].as_slice(), |(_, items)| items);
        let items = items.iter().chain(later.iter().flat_map(|part| part.items));
        let items: usize = items.map(|item| item.doc.span.len()).sum();
        let bytes = doc.span.len() + items;
        self.sink.out.reserve(bytes.min(self.sink.limit));
        let carried = carried.each_ref().map(String::as_str);
        let walk = EmitWalk::new(&mut self.sink, style, replaced, carried).with_later(later);
        let left_over = walk.document(doc, self.has_documents);
        self.left_over = left_over.map(str::to_owned);
        self.has_documents = true;
    }
}

impl<'a> NodeRef<'a> {
    /// The text of a scalar that the encoder writes in a block collection as it is: without quotes, tag or anchor. Its
    /// comments do not count.
    pub fn as_plain_line(self) -> Option<&'a str> {
        walk::plain_line(self)
    }
}

/// A document as text.
pub fn to_string(doc: &Document, style: SequenceStyle) -> String {
    let mut encoder = Encoder::new();
    encoder.document(doc, style);
    encoder.finish()
}
