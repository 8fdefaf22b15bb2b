//! Setting and removing the fields of one mapping, and the properties of nodes that kyaml's rules use.

use super::error::{EditError, expect_kind};
use crate::document::Document;
use crate::node::{Kind, KnownTag, NodeContent, NodeData, NodeId, Style, Tag};
use crate::noderef::NodeRef;
use crate::resolve::is_yaml_1_1_non_string;

impl<'a> NodeRef<'a> {
    /// The first pair whose key has this text; keys of any kind count, and collections have the empty text.
    pub(crate) fn field(self, name: &str) -> Option<(NodeRef<'a>, NodeRef<'a>)> {
        self.entries().find(|(key, _)| key.has_value(name))
    }

    /// The tag as Go's tree holds it: text that was read always has one, a new node may have none.
    fn held_tag(self) -> Tag {
        if self.span().is_none() && self.stored_tag() == Tag::Implicit {
            Tag::Implicit
        } else {
            self.resolved_tag()
        }
    }

    /// Whether the node is a null to kyaml: a new scalar without a tag is not, whatever its text.
    pub(crate) fn is_tagged_null(self) -> bool {
        self.held_tag() == Tag::Known(KnownTag::Null)
    }

    /// Whether kyaml takes the node for a string, which it quotes if YAML 1.1 would not.
    pub(crate) fn is_string_to_kyaml(self) -> bool {
        let is_string = matches!(self.held_tag(), Tag::Implicit | Tag::Known(KnownTag::Str));
        self.is_scalar() && is_string
    }
}

impl Document {
    /// Sets a field of a mapping; see [`NodeMut::set`](super::NodeMut::set). An empty name means `parent` itself, a scalar.
    pub(super) fn set_field(
        &mut self,
        parent: NodeId,
        name: &str,
        value: NodeId,
    ) -> Result<Option<NodeId>, EditError> {
        let new = self.node(value);
        if new.is_string_to_kyaml()
            && new.style() == Style::NONE
            && is_yaml_1_1_non_string(new.value())
        {
            self.set_new_style(value, Style::DOUBLE_QUOTED);
        }
        let is_null = self.node(value).is_tagged_null();
        let target = self.node(parent);
        if name.is_empty() {
            expect_kind(target, Kind::Scalar)?;
            if !is_null {
                self.overwrite(parent, value);
            }
            return Ok(Some(parent));
        }
        if is_null {
            self.clear_field(parent, name)?;
            return Ok(None);
        }
        expect_kind(target, Kind::Mapping)?;
        if !target.is_mapping() {
            return Ok(None);
        }
        if let Some(old) = target.field(name).map(|(_, old)| old.id()) {
            self.overwrite(old, value);
            return Ok(Some(old));
        }
        self.push_field(parent, name, value);
        Ok(Some(value))
    }

    /// Removes the first field of this name; returns false if it does not exist.
    pub(super) fn clear_field(&mut self, parent: NodeId, name: &str) -> Result<bool, EditError> {
        self.clear_field_if(parent, name, |_| true)
    }

    /// Removes the first field of this name whose value passes the test.
    pub(super) fn clear_field_if(
        &mut self,
        parent: NodeId,
        name: &str,
        wanted: impl Fn(NodeRef<'_>) -> bool,
    ) -> Result<bool, EditError> {
        let mapping = self.node(parent);
        expect_kind(mapping, Kind::Mapping)?;
        let mut previous = None;
        let mut place = None;
        for (key, value) in mapping.entries() {
            if key.has_value(name) && wanted(value) {
                place = Some((key.id(), value.id()));
                break;
            }
            previous = Some(value.id());
        }
        if let Some((key, value)) = place {
            self.unlink(parent, previous, key, value);
        }
        Ok(place.is_some())
    }

    /// Removes the first field of each name from a mapping, in one pass.
    pub(super) fn clear_fields(&mut self, mapping: NodeId, names: &[&str]) {
        let mut left = names.to_vec();
        let mut previous = None;
        let mut next = self.node(mapping).first_child().map(NodeRef::id);
        while let Some(key) = next
            && let Some(value) = self.node(key).next_sibling().map(NodeRef::id)
            && !left.is_empty()
        {
            next = self.node(value).next_sibling().map(NodeRef::id);
            match self.node(key).value_among(&left) {
                Some(place) => {
                    left.swap_remove(place);
                    self.unlink(mapping, previous, key, value);
                }
                None => previous = Some(value),
            }
        }
    }

    /// Appends a field without looking for the name.
    pub(super) fn push_field(&mut self, mapping: NodeId, name: &str, value: NodeId) {
        let key = self.new_scalar(name, "");
        self.push_entry(mapping, key, value);
    }

    pub(super) fn new_of_kind(&mut self, kind: Kind) -> NodeId {
        match kind {
            Kind::Mapping => self.new_mapping_node(),
            Kind::Sequence => self.new_sequence_node(),
            Kind::Scalar | Kind::Alias => self.new_scalar("", ""),
        }
    }

    /// Replaces the content of `old` by `new`. `old` keeps its style and its id; `new` must not be used any more.
    fn overwrite(&mut self, old: NodeId, new: NodeId) {
        let kept = *self.node_data(old);
        let data = *self.node_data(new);
        *self.node_data_mut(old) = NodeData {
            next: kept.next,
            style: kept.style,
            ..data
        };
    }

    /// Sets the style of a node that is not part of the tree yet, which does not change the document.
    pub(super) fn set_new_style(&mut self, node: NodeId, style: Style) {
        self.nodes[node.index()].style = style;
    }

    /// Takes the pair that follows `previous` out of the list of children.
    fn unlink(&mut self, parent: NodeId, previous: Option<NodeId>, key: NodeId, value: NodeId) {
        let after = self.node_data(value).next;
        if let Some(previous) = previous {
            self.node_data_mut(previous).next = after;
        }
        if let NodeContent::Mapping { first, last } = &mut self.node_data_mut(parent).content {
            if *first == key {
                *first = after;
            }
            if *last == value {
                *last = previous.unwrap_or(NodeId::NIL);
            }
        }
    }
}
