//! Splitting a tree into documents, without holding all nodes twice.
//!
//! A parsed document has the nodes of a subtree in one range of the arena, in the order of the text. So a part is a range
//! whose links are adjusted. Where edits have put nodes elsewhere, parts are copied node by node instead.

use std::ops::Range;

use crate::document::Document;
use crate::node::{Extra, NodeContent, NodeData, NodeId, Tag, Text};

/// Room for what is usually added to a part, in nodes.
const SPARE: usize = 8;

/// Memory is released when this many nodes were taken.
const GIVEN_BACK: usize = 1 << 16;

impl Document {
    /// The entries of a sequence as documents of their own, as [`Document::from_node`] makes them. Everything else is
    /// dropped.
    pub fn into_items(mut self, sequence: NodeId) -> Vec<Document> {
        let ids = self.child_ids(sequence);
        let Some(ranges) = self.stretches(&ids) else {
            let copies = ids.iter().map(|id| Document::from_node(self.node(*id)));
            return copies.collect();
        };
        let mut items = Vec::with_capacity(ids.len());
        // From the end, so that memory can be released.
        for range in ranges.into_iter().rev() {
            let start = range.start;
            items.push(self.copy_of(range));
            self.nodes.truncate(start);
            if self.nodes.capacity() - self.nodes.len() >= GIVEN_BACK {
                self.nodes.shrink_to_fit();
            }
        }
        items.reverse();
        items
    }

    /// The ranges of some subtrees in the arena, if each is a range of its own and they follow each other.
    fn stretches(&self, ids: &[NodeId]) -> Option<Vec<Range<usize>>> {
        let last = *ids.last()?;
        let mut ranges = Vec::with_capacity(ids.len());
        for (at, id) in ids.iter().enumerate() {
            let end = match ids.get(at + 1) {
                Some(next) => next.index(),
                None => self.end_of(last),
            };
            let range = id.index()..end;
            let nodes = self.nodes.get(range.clone())?;
            let is_inside = |link: NodeId| link == NodeId::NIL || range.contains(&link.index());
            let is_closed = nodes.iter().enumerate().all(|(place, node)| {
                let links = match node.content {
                    NodeContent::Mapping { first, last }
                    | NodeContent::Sequence { first, last } => is_inside(first) && is_inside(last),
                    NodeContent::Scalar(_) | NodeContent::Alias(_) => true,
                };
                links && (place == 0 || is_inside(node.next))
            });
            if !is_closed {
                return None;
            }
            ranges.push(range);
        }
        Some(ranges)
    }

    /// The end of the range of the tree below `node`, if it is one.
    fn end_of(&self, node: NodeId) -> usize {
        let mut last = node;
        loop {
            last = match self.node_data(last).content {
                NodeContent::Mapping { last: inner, .. }
                | NodeContent::Sequence { last: inner, .. }
                    if inner != NodeId::NIL =>
                {
                    inner
                }
                _ => return last.index() + 1,
            };
        }
    }

    /// A document of a range of nodes, the first of which is the root.
    fn copy_of(&self, range: Range<usize>) -> Document {
        let offset = range.start as u32;
        let nodes = self.nodes.get(range).unwrap_or_default();
        let mut copy = Document::with_source(self.source.clone());
        copy.charge.take(size_of_val(nodes));
        copy.nodes = Vec::with_capacity(nodes.len() + SPARE);
        for (place, node) in nodes.iter().enumerate() {
            let moved = |link: NodeId| match link {
                NodeId::NIL => link,
                NodeId(id) => NodeId(id - offset),
            };
            let mut text = |text: Text| match text.in_pool() {
                true => copy.intern(self.text(text)),
                false => text,
            };
            let content = match node.content {
                NodeContent::Scalar(value) => NodeContent::Scalar(text(value)),
                NodeContent::Alias(name) => NodeContent::Alias(text(name)),
                NodeContent::Mapping { first, last } => NodeContent::Mapping {
                    first: moved(first),
                    last: moved(last),
                },
                NodeContent::Sequence { first, last } => NodeContent::Sequence {
                    first: moved(first),
                    last: moved(last),
                },
            };
            let extra = self.extras.get(node.extra as usize).map(|extra| Extra {
                head: text(extra.head),
                line: text(extra.line),
                foot: text(extra.foot),
                anchor: text(extra.anchor),
            });
            let tag = match node.tag.unpack() {
                custom @ Tag::Custom(_) => copy.intern_tag(self.tag_text(custom)).into(),
                _ => node.tag,
            };
            let next = match place {
                0 => NodeId::NIL,
                _ => moved(node.next),
            };
            let number = copy.extras.len() as u32;
            copy.nodes.push(NodeData {
                content,
                tag,
                next,
                extra: extra.map_or(NodeData::NO_EXTRA, |_| number),
                ..*node
            });
            copy.extras.extend(extra);
        }
        copy.root = NodeId(0);
        copy.span = copy.root().span().unwrap_or(0..0);
        copy.changed = true;
        copy
    }
}

#[cfg(test)]
mod tests {
    use crate::{Document, SequenceStyle, parse_first, to_string};

    const LIST: &str = "\
kind: List
items:
# above
- a: &x 1 # beside
  b: [*x, {c: \"d\\n\"}]
  # below
- !mine {e: 'f'}
- plain
- []
-
- g:
    h: >-
      folded
      text
rest: {a: b}
";

    fn list() -> Document {
        parse_first(LIST.as_bytes()).unwrap().unwrap()
    }

    fn texts(items: &[Document]) -> Vec<String> {
        let text = |item: &Document| to_string(item, SequenceStyle::Compact);
        items.iter().map(text).collect()
    }

    /// The expected parts: copies, node by node.
    fn copies(list: &Document) -> Vec<Document> {
        let items = list.root().get("items").unwrap();
        items.items().map(Document::from_node).collect()
    }

    #[test]
    fn parts_are_what_copies_are() {
        let list = list();
        let expected = copies(&list);
        let sequence = list.root().get("items").unwrap().id();
        let items = list.into_items(sequence);
        assert_eq!(items.len(), 6);
        assert_eq!(texts(&items), texts(&expected));
        for (item, copy) in items.iter().zip(&expected) {
            assert_eq!(item.source_text(), copy.source_text());
            assert_eq!(item.root().position(), copy.root().position());
        }
    }

    #[test]
    fn parts_can_be_edited() {
        let list = list();
        let sequence = list.root().get("items").unwrap().id();
        let mut items = list.into_items(sequence);
        items[0].root_mut().set_string(&["b2"], "new").unwrap();
        assert!(
            texts(&items)[0].ends_with("b2: new\n"),
            "{}",
            texts(&items)[0]
        );
    }

    #[test]
    fn nodes_from_elsewhere_are_copied() {
        let mut list = list();
        let sequence = list.root().get("items").unwrap().id();
        let first = list.child_ids(sequence)[0];
        let (key, value) = (list.new_string("late"), list.new_string("node"));
        list.push_entry(first, key, value);
        let expected = texts(&copies(&list));
        assert_eq!(texts(&list.into_items(sequence)), expected);
        assert!(expected[0].contains("late: node"));
    }

    #[test]
    fn nothing_has_no_parts() {
        let list = parse_first(b"items: []").unwrap().unwrap();
        let sequence = list.root().get("items").unwrap().id();
        assert!(list.into_items(sequence).is_empty());
    }
}
