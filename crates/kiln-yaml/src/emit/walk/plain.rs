//! A short way for the children that most are: scalars without comments, whose text needs at most its quotes, and keys of
//! block collections.
//!
//! What is written is the same, byte by byte, as on the way through [`EmitWalk::step`]; where that is not certain, nothing
//! is written here.

use super::{Children, EmitWalk, Layout, MAX_SIMPLE_KEY};
use crate::emit::analyze::{is_plain_in_block, is_printable_line};
use crate::node::{KnownTag, NodeContent, NodeData, NodeId, Style, Tag};
use crate::noderef::NodeRef;
use crate::resolve::resolve;

/// A scalar that is written as it stands.
#[derive(Clone, Copy)]
struct PlainText<'a> {
    text: &'a str,
    /// Stands before and behind the text.
    quote: &'static str,
}

/// The text of a scalar that is written as it stands, without quotes.
pub(in crate::emit) fn plain_line(node: NodeRef<'_>) -> Option<&str> {
    let plain = PlainText::without_comments(node)?;
    let is_plain = plain.quote.is_empty() && !plain.text.is_empty() && node.anchor().is_empty();
    is_plain.then_some(plain.text)
}

impl<'a> EmitWalk<'a, '_> {
    /// Writes the next child of a block collection if it is a plain item, a pair of plain scalars, or a plain key of a
    /// collection, which it opens; returns whether it was.
    pub(super) fn plain_child(&mut self) -> bool {
        let has_comments = self.slots().iter().any(|slot| !slot.is_empty());
        let Some(frame) = self.frames.last_mut().filter(|_| !has_comments) else {
            return false;
        };
        let Children::Own(Some(child)) = frame.children else {
            return false;
        };
        match frame.layout {
            Layout::BlockMapping if frame.at_key && frame.tail.is_empty() => {
                let Some(value) = child.next_sibling() else {
                    return false;
                };
                let Some(key) = PlainText::of(child).filter(PlainText::is_simple_key) else {
                    return false;
                };
                let value_text = PlainText::of(value);
                let is_replaced = self.replaced.is_some_and(|(list, _)| list == value.id());
                let layout = plain_layout(value).filter(|_| !is_replaced);
                if value_text.is_none() && layout.is_none() {
                    return false;
                }
                frame.children = Children::Own(value.next_sibling());
                if std::mem::replace(&mut frame.is_first, false) {
                    self.indent = Some(self.indent.map_or(0, |indent| indent + 2));
                }
                self.sink.indent(self.columns());
                key.push_to(&mut self.sink.out);
                self.sink.out.push(':');
                if let Some(text) = value_text.filter(|text| !text.is_nothing()) {
                    self.sink.out.push(' ');
                    text.push_to(&mut self.sink.out);
                }
                if let Some(layout) = layout {
                    self.open(value, layout, false);
                }
            }
            // The first item decides how its list is indented.
            Layout::BlockSequence if !frame.is_first => {
                let Some(item) = PlainText::of(child) else {
                    return false;
                };
                frame.children = Children::Own(child.next_sibling());
                self.sink.indent(self.columns());
                self.sink.out.push('-');
                if !item.is_nothing() {
                    self.sink.out.push(' ');
                    item.push_to(&mut self.sink.out);
                }
            }
            _ => return false,
        }
        self.sink.whitespace = false;
        self.sink.indention = false;
        true
    }
}

/// How a collection is written that has children and no comments, anchor or tag; none in flow style.
fn plain_layout(node: NodeRef<'_>) -> Option<Layout> {
    let data = node.doc.node_data(node.id);
    let (layout, tag, first) = match data.content {
        NodeContent::Mapping { first, .. } => (Layout::BlockMapping, KnownTag::Map, first),
        NodeContent::Sequence { first, .. } => (Layout::BlockSequence, KnownTag::Seq, first),
        NodeContent::Scalar(_) | NodeContent::Alias(_) => return None,
    };
    let is_plain = data.extra == NodeData::NO_EXTRA
        && data.style == Style::NONE
        && first != NodeId::NIL
        && data.tag.unpack() == Tag::Known(tag);
    is_plain.then_some(layout)
}

impl<'a> PlainText<'a> {
    /// The text of a scalar without comments, anchor or tag, if its style needs nothing but quotes.
    fn of(node: NodeRef<'a>) -> Option<PlainText<'a>> {
        match node.has_extra() {
            true => None,
            false => PlainText::without_comments(node),
        }
    }

    /// The same, whatever comments and anchor the scalar has.
    #[inline]
    fn without_comments(node: NodeRef<'a>) -> Option<PlainText<'a>> {
        let data = node.doc.node_data(node.id);
        let NodeContent::Scalar(text) = data.content else {
            return None;
        };
        let (text, tag) = (node.doc.text(text), data.tag.unpack());
        let is_string = tag == Tag::Known(KnownTag::Str);
        let (quote, fits) = match data.style {
            Style::NONE => {
                let keeps_tag = tag == Tag::Implicit || tag == Tag::Known(resolve(text));
                ("", keeps_tag && is_plain_in_block(text))
            }
            Style::SINGLE_QUOTED => {
                let fits = is_printable_line(text, |byte| byte != b'\'');
                ("'", is_string && fits)
            }
            Style::DOUBLE_QUOTED => {
                let fits = is_printable_line(text, |byte| !matches!(byte, b'"' | b'\\'));
                ("\"", is_string && fits)
            }
            _ => return None,
        };
        fits.then_some(PlainText { text, quote })
    }

    fn is_simple_key(&self) -> bool {
        !self.text.is_empty() && self.text.len() <= MAX_SIMPLE_KEY
    }

    fn is_nothing(&self) -> bool {
        self.text.is_empty() && self.quote.is_empty()
    }

    fn push_to(self, out: &mut String) {
        out.push_str(self.quote);
        out.push_str(self.text);
        out.push_str(self.quote);
    }
}
