//! Reading a tree: a node together with its document.

use std::ops::Range;

use crate::document::{Document, Slot};
use crate::error::Position;
use crate::node::{Kind, KnownTag, NodeContent, NodeData, NodeId, Style, Tag, Text};
use crate::resolve::resolve;

/// The length of `null`, the longest spelling of it.
const LONGEST_NULL: usize = 4;

/// A node of a document, for reading. Cheap to copy.
#[derive(Clone, Copy, Debug)]
pub struct NodeRef<'a> {
    pub(crate) doc: &'a Document,
    pub(crate) id: NodeId,
}

impl<'a> NodeRef<'a> {
    /// The node's id, for the document's changing methods.
    pub fn id(self) -> NodeId {
        self.id
    }

    /// The document the node belongs to.
    pub fn document(self) -> &'a Document {
        self.doc
    }

    fn node_data(self) -> &'a NodeData {
        self.doc.node_data(self.id)
    }

    pub fn kind(self) -> Kind {
        match self.node_data().content {
            NodeContent::Scalar(_) => Kind::Scalar,
            NodeContent::Alias(_) => Kind::Alias,
            NodeContent::Mapping { .. } => Kind::Mapping,
            NodeContent::Sequence { .. } => Kind::Sequence,
        }
    }

    pub fn is_mapping(self) -> bool {
        self.kind() == Kind::Mapping
    }

    pub fn is_sequence(self) -> bool {
        self.kind() == Kind::Sequence
    }

    pub fn is_scalar(self) -> bool {
        self.kind() == Kind::Scalar
    }

    /// A scalar's text, an alias' name; empty for collections.
    pub fn value(self) -> &'a str {
        match self.node_data().content {
            NodeContent::Scalar(text) | NodeContent::Alias(text) => self.doc.text(text),
            NodeContent::Mapping { .. } | NodeContent::Sequence { .. } => "",
        }
    }

    /// Whether [`NodeRef::value`] is `text`.
    pub fn has_value(self, text: &str) -> bool {
        is_same(self.value_bytes(), text.as_bytes())
    }

    /// Which of these texts [`NodeRef::value`] is: the index of the first one.
    pub fn value_among(self, texts: &[&str]) -> Option<usize> {
        let own = self.value_bytes();
        texts.iter().position(|text| is_same(own, text.as_bytes()))
    }

    /// [`NodeRef::value`] without the check that characters are whole.
    fn value_bytes(self) -> &'a [u8] {
        match self.node_data().content {
            NodeContent::Scalar(text) | NodeContent::Alias(text) => self.doc.text_bytes(text),
            NodeContent::Mapping { .. } | NodeContent::Sequence { .. } => &[],
        }
    }

    /// The text if the node is a scalar of any type but null.
    pub fn as_text(self) -> Option<&'a str> {
        (self.is_scalar() && !self.is_null()).then(|| self.value())
    }

    /// Whether the node is a scalar that means null.
    pub fn is_null(self) -> bool {
        let data = self.node_data();
        match (data.tag.unpack(), data.content) {
            (Tag::Implicit, NodeContent::Scalar(text)) => {
                text.len() <= LONGEST_NULL && resolve(self.doc.text(text)) == KnownTag::Null
            }
            (tag, NodeContent::Scalar(_)) => tag == Tag::Known(KnownTag::Null),
            _ => false,
        }
    }

    /// How the node is written.
    pub fn style(self) -> Style {
        self.node_data().style
    }

    /// The tag in short form (`!!str`); for plain scalars without one, what the text resolves to. Empty for aliases.
    pub fn tag(self) -> &'a str {
        self.doc.tag_text(self.resolved_tag())
    }

    /// Whether the node is a scalar that means a string.
    pub fn is_string(self) -> bool {
        self.is_scalar() && self.resolved_tag() == Tag::Known(KnownTag::Str)
    }

    pub(crate) fn stored_tag(self) -> Tag {
        self.node_data().tag.unpack()
    }

    pub(crate) fn resolved_tag(self) -> Tag {
        match (self.node_data().tag.unpack(), self.node_data().content) {
            (Tag::Implicit, NodeContent::Scalar(text)) => Tag::Known(resolve(self.doc.text(text))),
            (tag, _) => tag,
        }
    }

    /// The anchor's name; empty if there is none.
    pub fn anchor(self) -> &'a str {
        self.extra_text(|extra| extra.anchor)
    }

    /// One of the node's comments, `#` included; empty if there is none.
    pub fn comment(self, slot: Slot) -> &'a str {
        self.extra_text(|extra| match slot {
            Slot::Head => extra.head,
            Slot::Line => extra.line,
            Slot::Foot => extra.foot,
        })
    }

    fn extra_text(self, pick: impl Fn(&crate::node::Extra) -> Text) -> &'a str {
        match self.node_data().extra {
            NodeData::NO_EXTRA => "",
            index => self.doc.text(pick(&self.doc.extras[index as usize])),
        }
    }

    /// Whether the node has any comment or an anchor.
    pub(crate) fn has_extra(self) -> bool {
        self.node_data().extra != NodeData::NO_EXTRA
    }

    /// Whether the text is not simply a part of the source: folded, unescaped, or new.
    pub(crate) fn is_put_together(self) -> bool {
        match self.node_data().content {
            NodeContent::Scalar(text) | NodeContent::Alias(text) => text.in_pool(),
            NodeContent::Mapping { .. } | NodeContent::Sequence { .. } => false,
        }
    }

    /// Where the node begins; `None` for nodes that were not read from text.
    pub fn position(self) -> Option<Position> {
        let start = self.node_data().start;
        (start != NodeData::NO_PLACE).then(|| {
            self.doc
                .line_index()
                .position(&self.doc.source, start as usize)
        })
    }

    /// The bytes of the decoded source that the node was read from.
    pub fn span(self) -> Option<Range<usize>> {
        let data = self.node_data();
        let within = |offset: u32| (offset as usize).min(self.doc.source.len());
        (data.start != NodeData::NO_PLACE).then(|| within(data.start)..within(data.end))
    }

    pub(crate) fn first_child(self) -> Option<NodeRef<'a>> {
        match self.node_data().content {
            NodeContent::Mapping { first, .. } | NodeContent::Sequence { first, .. } => {
                first.get().map(|id| self.doc.node(id))
            }
            NodeContent::Scalar(_) | NodeContent::Alias(_) => None,
        }
    }

    pub(crate) fn next_sibling(self) -> Option<NodeRef<'a>> {
        self.node_data().next.get().map(|id| self.doc.node(id))
    }

    /// The children in order; a mapping's alternate key, value.
    pub fn children(self) -> impl Iterator<Item = NodeRef<'a>> {
        std::iter::successors(self.first_child(), |child| child.next_sibling())
    }

    /// A sequence's items; nothing for other kinds.
    pub fn items(self) -> impl Iterator<Item = NodeRef<'a>> {
        let first = self.is_sequence().then(|| self.first_child()).flatten();
        std::iter::successors(first, |child| child.next_sibling())
    }

    /// A mapping's pairs in order; nothing for other kinds.
    pub fn entries(self) -> impl Iterator<Item = (NodeRef<'a>, NodeRef<'a>)> {
        let first = self.is_mapping().then(|| self.first_child()).flatten();
        let pair = |key: NodeRef<'a>| key.next_sibling().map(|value| (key, value));
        std::iter::successors(first.and_then(pair), move |(_, value)| {
            value.next_sibling().and_then(pair)
        })
    }

    /// The number of items or pairs.
    pub fn len(self) -> usize {
        match self.kind() {
            Kind::Mapping => self.entries().count(),
            _ => self.children().count(),
        }
    }

    /// Whether there are no children.
    pub fn is_empty(self) -> bool {
        self.first_child().is_none()
    }

    /// The pair with a scalar key of this text; the first if there are several.
    pub fn entry(self, key: &str) -> Option<(NodeRef<'a>, NodeRef<'a>)> {
        self.entries()
            .find(|(candidate, _)| candidate.is_scalar() && candidate.has_value(key))
    }

    /// The value of a mapping's key.
    pub fn get(self, key: &str) -> Option<NodeRef<'a>> {
        self.entry(key).map(|(_, value)| value)
    }

    /// The node reached by following mapping keys.
    pub fn get_path(self, path: &[&str]) -> Option<NodeRef<'a>> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }
}

/// Plain equality for keys, which are looked up a thousand times for each resource. Most differ in their length or at their
/// end, and most that are equal are short, so that few have to be compared by a function of the C library.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    const WORD: usize = size_of::<u64>();
    if one.len() != other.len() {
        return false;
    }
    match (one.last_chunk::<WORD>(), other.last_chunk::<WORD>()) {
        (Some(end), Some(other_end)) if end != other_end => false,
        (Some(_), Some(_)) if one.len() <= 2 * WORD => {
            one.first_chunk::<WORD>() == other.first_chunk::<WORD>()
        }
        (Some(_), Some(_)) => one == other,
        _ => one.iter().eq(other),
    }
}

#[cfg(test)]
mod tests {
    use super::is_same;

    #[test]
    fn texts_of_any_length_are_compared_whole() {
        let text = b"internal.config.kubernetes.io/path";
        for length in 0..=text.len() {
            let one = &text[..length];
            let mut other = one.to_vec();
            assert!(is_same(one, &other), "{length}");
            for place in 0..length {
                other[place] ^= 1;
                assert!(!is_same(one, &other), "{length} {place}");
                other[place] ^= 1;
            }
            other.push(b'x');
            assert!(!is_same(one, &other), "{length}");
        }
    }

    #[test]
    fn the_first_of_equal_texts_counts() {
        let document = crate::parse("a: {}\nlabels: b\n")
            .expect("parses")
            .expect("a document");
        let (key, _) = document.root().entry("labels").expect("the field");
        assert_eq!(key.value_among(&["name", "labels", "labels"]), Some(1));
        assert_eq!(key.value_among(&["name", "label"]), None);
        let map = document.root().get("a").expect("the field");
        assert_eq!(map.value_among(&["a", ""]), Some(1));
    }
}
