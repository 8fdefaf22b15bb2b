//! A long list written in parts, by several threads.
//!
//! An item of a block sequence begins on a fresh line, so that what is written depends on what came before only through
//! comments that are still waiting. A part is written as if there were none. Whether that was right is known when the part
//! before it is finished; if not, its text is thrown away and its items are written in order.

use super::{Children, EmitFrame, EmitWalk, Layout};
use crate::emit::SequenceStyle;
use crate::emit::sink::Sink;
use crate::noderef::NodeRef;

/// The text of some items, and the comments that none of them has written.
pub(in crate::emit) struct Part<'a> {
    pub(in crate::emit) sink: Sink,
    slots: [&'a str; 5],
}

/// Items that another thread has written, or is about to have.
pub(in crate::emit) struct Later<'a, 's> {
    pub(in crate::emit) items: &'a [NodeRef<'a>],
    /// Waits for the text.
    pub(in crate::emit) written: Box<dyn FnOnce() -> Part<'a> + 's>,
}

impl<'a> Part<'a> {
    /// Writes items of a sequence that stands at the beginning of the line.
    pub(in crate::emit) fn write(
        list: NodeRef<'a>,
        items: &'a [NodeRef<'a>],
        style: SequenceStyle,
        limit: usize,
    ) -> Part<'a> {
        let mut sink = Sink::with_limit(limit);
        let bytes: usize = items.iter().map(|item| item.doc.span.len()).sum();
        sink.out.reserve(bytes.min(limit));
        let mut walk = EmitWalk::new(&mut sink, style, None, [""; 5]);
        walk.indent = Some(0);
        walk.frames.push(EmitFrame {
            node: list,
            layout: Layout::BlockSequence,
            children: Children::Given(items.iter()),
            outer_indent: Some(0),
            is_first: false,
            at_key: true,
            simple_key: false,
            comma_written: false,
            tail: "",
            is_key: false,
        });
        while !walk.is_at_end_of_items() && !walk.sink.is_full() {
            if !walk.plain_child() {
                walk.step();
            }
        }
        let slots = walk.slots();
        drop(walk);
        Part { sink, slots }
    }
}

impl<'a> EmitWalk<'a, '_> {
    /// Whether nothing is left but to close the outermost sequence.
    fn is_at_end_of_items(&self) -> bool {
        match self.frames.as_slice() {
            [frame] => matches!(&frame.children, Children::Given(items) if items.len() == 0),
            frames => frames.is_empty(),
        }
    }

    /// Goes on, at the end of the items that are given, with those of later parts; the first of the next part if they
    /// have to be written here.
    pub(super) fn next_part(&mut self) -> Option<NodeRef<'a>> {
        while let Some(later) = self.later.pop_front() {
            let part = (later.written)();
            let waiting = self.slots().iter().any(|slot| !slot.is_empty());
            if !waiting && self.columns() == 0 {
                self.sink.append(&part.sink);
                [self.head, self.line, self.foot, self.tail, self.key_line] = part.slots;
                continue;
            }
            let frame = self.frames.last_mut()?;
            frame.children = Children::Given(later.items.iter());
            return frame.children.next();
        }
        None
    }
}
