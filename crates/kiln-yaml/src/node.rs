//! The building blocks of a tree: ids, kinds, styles, tags and the data of each node.
//!
//! A node is a 32-byte record in its document's arena. Children form a singly linked list, so that
//! insertion and removal never move other nodes; a mapping's children alternate key, value.

/// The index of a node in its document's arena. Only meaningful together with that document.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct NodeId(pub(crate) u32);

impl NodeId {
    pub(crate) const NIL: NodeId = NodeId(u32::MAX);

    pub(crate) fn get(self) -> Option<NodeId> {
        (self != NodeId::NIL).then_some(self)
    }

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The kind of a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// Key-value pairs in order; duplicate keys are possible.
    Mapping,
    /// A list of nodes.
    Sequence,
    /// A piece of text with a tag and a style.
    Scalar,
    /// A reference to an anchored node by name.
    Alias,
}

impl Kind {
    /// What kyaml calls a node of this kind in messages.
    pub fn go_name(self) -> &'static str {
        match self {
            Kind::Mapping => "MappingNode",
            Kind::Sequence => "SequenceNode",
            Kind::Scalar => "ScalarNode",
            Kind::Alias => "AliasNode",
        }
    }
}

/// How a node is written; a set of flags, empty for plain scalars and block collections.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Style(u8);

impl Style {
    /// Plain scalar or block collection.
    pub const NONE: Style = Style(0);
    /// The tag is written out.
    pub const TAGGED: Style = Style(1);
    /// `"text"`
    pub const DOUBLE_QUOTED: Style = Style(2);
    /// `'text'`
    pub const SINGLE_QUOTED: Style = Style(4);
    /// `|` block scalar.
    pub const LITERAL: Style = Style(8);
    /// `>` block scalar.
    pub const FOLDED: Style = Style(16);
    /// `[a, b]` or `{a: b}`.
    pub const FLOW: Style = Style(32);

    const QUOTED_OR_BLOCK: u8 = 2 | 4 | 8 | 16;

    /// The flags as go-yaml numbers them.
    pub fn bits(self) -> u8 {
        self.0
    }

    /// Whether all flags of `other` are set.
    pub fn contains(self, other: Style) -> bool {
        self.0 & other.0 == other.0
    }

    /// These flags and those of `other`.
    #[must_use]
    pub fn with(self, other: Style) -> Style {
        Style(self.0 | other.0)
    }

    /// These flags less those of `other`.
    #[must_use]
    pub fn without(self, other: Style) -> Style {
        Style(self.0 & !other.0)
    }

    /// Whether the scalar is quoted, literal or folded, so that its text is surely a string.
    pub fn is_quoted_or_block(self) -> bool {
        self.0 & Self::QUOTED_OR_BLOCK != 0
    }
}

/// A node's tag. `Implicit` is the tag that the plain text resolves to, computed on demand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Tag {
    Implicit,
    Known(KnownTag),
    /// Index into the document's table of other tags.
    Custom(u32),
}

/// A tag in three bytes, so that a node stays small.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PackedTag([u8; 3]);

impl PackedTag {
    const FIRST_CUSTOM: u32 = 1 + KnownTag::ALL.len() as u32;
    /// How many other tags a document can have.
    pub(crate) const MAX_CUSTOM: usize = (1 << 24) - 1 - Self::FIRST_CUSTOM as usize;

    pub(crate) fn unpack(self) -> Tag {
        let [low, middle, high] = self.0;
        match u32::from_le_bytes([low, middle, high, 0]) {
            0 => Tag::Implicit,
            number => match KnownTag::ALL.get(number as usize - 1) {
                Some((known, _)) => Tag::Known(*known),
                None => Tag::Custom(number - Self::FIRST_CUSTOM),
            },
        }
    }
}

impl From<Tag> for PackedTag {
    fn from(tag: Tag) -> PackedTag {
        let number = match tag {
            Tag::Implicit => 0,
            Tag::Known(known) => 1 + known as u32,
            Tag::Custom(index) => Self::FIRST_CUSTOM + index,
        };
        let [low, middle, high, _] = number.to_le_bytes();
        PackedTag([low, middle, high])
    }
}

/// The tags of YAML's own repository that occur in practice, in the order of [`KnownTag::ALL`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum KnownTag {
    Str,
    Int,
    Bool,
    Null,
    Float,
    Timestamp,
    Merge,
    Binary,
    Map,
    Seq,
}

impl KnownTag {
    const ALL: [(KnownTag, &'static str); 10] = [
        (KnownTag::Str, "!!str"),
        (KnownTag::Int, "!!int"),
        (KnownTag::Bool, "!!bool"),
        (KnownTag::Null, "!!null"),
        (KnownTag::Float, "!!float"),
        (KnownTag::Timestamp, "!!timestamp"),
        (KnownTag::Merge, "!!merge"),
        (KnownTag::Binary, "!!binary"),
        (KnownTag::Map, "!!map"),
        (KnownTag::Seq, "!!seq"),
    ];

    pub(crate) fn as_str(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    pub(crate) fn from_short(text: &str) -> Option<KnownTag> {
        Self::ALL
            .iter()
            .find(|(_, name)| *name == text)
            .map(|(tag, _)| *tag)
    }
}

/// A piece of text: a range of the source, or of the document's pool of new text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Text {
    start: u32,
    len: u32,
}

impl Text {
    pub(crate) const EMPTY: Text = Text { start: 0, len: 0 };
    const POOL: u32 = 1 << 31;

    pub(crate) fn source(start: usize, end: usize) -> Text {
        Text {
            start: start as u32,
            len: (end - start) as u32,
        }
    }

    pub(crate) fn pool(start: usize, end: usize) -> Text {
        Text {
            start: start as u32 | Self::POOL,
            len: (end - start) as u32,
        }
    }

    pub(crate) fn is_empty(self) -> bool {
        self.len == 0
    }

    pub(crate) fn len(self) -> usize {
        self.len as usize
    }

    pub(crate) fn in_pool(self) -> bool {
        self.start & Self::POOL != 0
    }

    pub(crate) fn range(self) -> std::ops::Range<usize> {
        let start = (self.start & !Self::POOL) as usize;
        start..start + self.len as usize
    }
}

/// Comments and an anchor. Few nodes have them, so they are stored separately to keep nodes small.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Extra {
    pub(crate) head: Text,
    pub(crate) line: Text,
    pub(crate) foot: Text,
    pub(crate) anchor: Text,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NodeContent {
    Scalar(Text),
    Alias(Text),
    Mapping { first: NodeId, last: NodeId },
    Sequence { first: NodeId, last: NodeId },
}

impl NodeContent {
    pub(crate) const MAPPING: NodeContent = NodeContent::Mapping {
        first: NodeId::NIL,
        last: NodeId::NIL,
    };
    pub(crate) const SEQUENCE: NodeContent = NodeContent::Sequence {
        first: NodeId::NIL,
        last: NodeId::NIL,
    };
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeData {
    pub(crate) content: NodeContent,
    pub(crate) style: Style,
    pub(crate) tag: PackedTag,
    /// Index into the document's extras, or `NO_EXTRA`.
    pub(crate) extra: u32,
    pub(crate) next: NodeId,
    /// Where the node begins (its anchor or tag if it has one) and ends, or `NO_PLACE` for new nodes.
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl NodeData {
    pub(crate) const NO_EXTRA: u32 = u32::MAX;
    pub(crate) const NO_PLACE: u32 = u32::MAX;

    pub(crate) fn new(content: NodeContent, tag: Tag, style: Style) -> NodeData {
        NodeData {
            content,
            style,
            tag: tag.into(),
            extra: NodeData::NO_EXTRA,
            next: NodeId::NIL,
            start: NodeData::NO_PLACE,
            end: NodeData::NO_PLACE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{KnownTag, NodeData, PackedTag, Tag};

    #[test]
    fn a_node_has_32_bytes() {
        assert_eq!(size_of::<NodeData>(), 32);
    }

    #[test]
    fn tags_survive_packing() {
        let custom = [0, 1, 70_000, PackedTag::MAX_CUSTOM as u32].map(Tag::Custom);
        let known = KnownTag::ALL.map(|(known, _)| Tag::Known(known));
        for tag in [Tag::Implicit].into_iter().chain(known).chain(custom) {
            assert_eq!(PackedTag::from(tag).unpack(), tag);
        }
    }

    #[test]
    fn known_tags_have_their_names() {
        for (known, name) in KnownTag::ALL {
            assert_eq!(known.as_str(), name);
            assert_eq!(KnownTag::from_short(name), Some(known));
        }
    }
}
