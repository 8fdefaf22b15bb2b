//! What edits have made of a document, found by the identity of its nodes.
//!
//! A copy of a document has the same nodes under the same ids, and edits give new nodes new ids. So two documents of one
//! parse are compared without comparing texts: a node whose text is the same piece of the same source is unchanged.
//! Only the edits that most functions make are described: other values, fields added at the end, fields removed. For
//! anything else there is no answer, and callers compare by value instead.
//!
//! An edit changes the records of the nodes around it. So the records are compared first, and only the collections with a
//! changed node in them are walked.

use std::sync::Arc;

use crate::document::{Document, Slot};
use crate::node::{Extra, NodeContent, NodeData, NodeId, Text};
use crate::noderef::NodeRef;

/// The edits that lead from one document to another.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Edits {
    /// Scalars with another value or tag, each after the collection it is in.
    pub values: Vec<(NodeId, NodeId)>,
    /// Mappings with new fields at their end.
    pub added: Vec<AddedFields>,
    /// Whether fields are gone.
    pub has_removed: bool,
    /// Comments that are gone.
    pub lost_comments: Vec<(NodeId, Slot)>,
}

/// New fields at the end of a mapping.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AddedFields {
    /// The mapping, which both documents have.
    pub mapping: NodeId,
    /// The key of the first new field; all that follow it are new too.
    pub first_key: NodeId,
}

impl AddedFields {
    /// The new fields, which are those of the changed document.
    pub fn fields<'a>(
        &self,
        after: &'a Document,
    ) -> impl Iterator<Item = (NodeRef<'a>, NodeRef<'a>)> {
        let first = self.first_key;
        let fields = after.node(self.mapping).entries();
        fields.skip_while(move |(key, _)| key.id != first)
    }
}

impl Edits {
    /// Whether the documents mean the same.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty() && self.added.is_empty() && !self.has_removed
    }
}

impl Document {
    /// The edits that make this document of `before`; none if they cannot be described, or if this document is not made
    /// of that one. Styles do not count.
    pub fn edits_since(&self, before: &Document) -> Option<Edits> {
        let is_same_parse = self.parsed_nodes > 0
            && self.parsed_nodes == before.parsed_nodes
            && self.span == before.span
            && self.root == before.root
            && self.nodes.len() >= before.nodes.len()
            && Arc::ptr_eq(&self.source, &before.source);
        if !is_same_parse {
            return None;
        }
        let changed = self.changed_nodes(before);
        if changed.as_ref().is_some_and(Vec::is_empty) {
            return Some(Edits::default());
        }
        if let Some(changed) = changed {
            let count = changed.len();
            let comparison = EditComparison::new(before, self, Some(changed)).run()?;
            // Nodes that an earlier edit has moved are not where they are expected.
            if comparison.changed_found == count {
                return Some(comparison.edits);
            }
        }
        let comparison = EditComparison::new(before, self, None).run()?;
        Some(comparison.edits)
    }

    /// The nodes that both documents have with different records, in order; none if all nodes have to be compared.
    fn changed_nodes(&self, before: &Document) -> Option<Vec<NodeId>> {
        let is_same = |(one, other): (&NodeData, &NodeData)| {
            one.content == other.content
                && one.tag == other.tag
                && one.extra == other.extra
                && one.next == other.next
        };
        let extras = self.extras.get(..before.extras.len());
        let has_same_extras = extras == Some(before.extras.as_slice());
        let pairs = before.nodes.iter().zip(&self.nodes).enumerate();
        let changed = pairs.filter(|(_, pair)| !is_same(*pair));
        let changed: Vec<NodeId> = changed.map(|(index, _)| NodeId(index as u32)).collect();
        let is_parsed = |id: &NodeId| id.index() < before.parsed_nodes;
        (has_same_extras && changed.iter().all(is_parsed)).then_some(changed)
    }

    /// Gives nodes back the comments that they have in `before`, a document that this one was made of.
    pub fn restore_comments(&mut self, before: &Document, lost: &[(NodeId, Slot)]) {
        for (id, slot) in lost {
            let text = before.slot_text(*id, *slot);
            *slot_of(self.extra_mut(*id), *slot) = text;
            self.changed = true;
        }
    }

    fn slot_text(&self, id: NodeId, slot: Slot) -> Text {
        match self.node_data(id).extra {
            NodeData::NO_EXTRA => Text::EMPTY,
            index => {
                let mut extra = self.extras[index as usize];
                *slot_of(&mut extra, slot)
            }
        }
    }

    fn anchor_text(&self, id: NodeId) -> Text {
        match self.node_data(id).extra {
            NodeData::NO_EXTRA => Text::EMPTY,
            index => self.extras[index as usize].anchor,
        }
    }
}

fn slot_of(extra: &mut Extra, slot: Slot) -> &mut Text {
    match slot {
        Slot::Head => &mut extra.head,
        Slot::Line => &mut extra.line,
        Slot::Foot => &mut extra.foot,
    }
}

struct EditComparison<'a> {
    before: &'a Document,
    after: &'a Document,
    edits: Edits,
    /// Collections whose children are still to be compared.
    pending: Vec<NodeId>,
    /// The nodes with changed records, in order. If they are known, collections without one are not walked.
    changed: Option<Vec<NodeId>>,
    /// How many of them were met.
    changed_found: usize,
}

impl<'a> EditComparison<'a> {
    fn new(
        before: &'a Document,
        after: &'a Document,
        changed: Option<Vec<NodeId>>,
    ) -> EditComparison<'a> {
        EditComparison {
            before,
            after,
            edits: Edits::default(),
            pending: Vec::new(),
            changed,
            changed_found: 0,
        }
    }

    /// Compares the documents. None if their edits cannot be described.
    fn run(mut self) -> Option<EditComparison<'a>> {
        self.node(None, self.after.root)?;
        while let Some(id) = self.pending.pop() {
            self.children(id)?;
        }
        Some(self)
    }

    /// Whether a collection may have changed nodes, itself included. A parsed document has the nodes of a collection in one
    /// range of ids, which ends before the next node that is not one of them.
    fn may_have_changes(&self, id: NodeId) -> bool {
        let Some(changed) = &self.changed else {
            return true;
        };
        let from = changed.partition_point(|node| *node < id);
        let end = self.before.node_data(id).next;
        let is_end_known = end != NodeId::NIL && end.index() < self.before.parsed_nodes;
        match changed.get(from) {
            Some(node) => !is_end_known || *node < end,
            // The nodes of a new collection may be anywhere.
            None => id.index() >= self.before.parsed_nodes,
        }
    }

    fn is_new(&self, id: NodeId) -> bool {
        id.index() >= self.before.nodes.len()
    }

    /// Compares a node that both documents have, without its children. None ends the comparison.
    fn node(&mut self, parent: Option<NodeId>, id: NodeId) -> Option<()> {
        let (before, after) = (self.before.node_data(id), self.after.node_data(id));
        match (before.content, after.content) {
            (NodeContent::Scalar(old), NodeContent::Scalar(new)) => {
                let is_same = self.is_same_text(old, new) && self.has_same_tag(id);
                if !is_same {
                    self.edits.values.push((parent?, id));
                }
            }
            (NodeContent::Alias(old), NodeContent::Alias(new)) if self.is_same_text(old, new) => {}
            (NodeContent::Mapping { .. }, NodeContent::Mapping { .. })
            | (NodeContent::Sequence { .. }, NodeContent::Sequence { .. })
                if before.tag == after.tag =>
            {
                if self.may_have_changes(id) {
                    self.pending.push(id);
                }
            }
            _ => return None,
        }
        let changed = self.changed.as_deref().unwrap_or_default();
        self.changed_found += usize::from(changed.binary_search(&id).is_ok());
        self.extras(id, before.extra, after.extra)
    }

    /// Compares comments and anchors.
    fn extras(&mut self, id: NodeId, before: u32, after: u32) -> Option<()> {
        if before == NodeData::NO_EXTRA && after == NodeData::NO_EXTRA {
            return Some(());
        }
        let anchors = (self.before.anchor_text(id), self.after.anchor_text(id));
        if !self.is_same_text(anchors.0, anchors.1) {
            return None;
        }
        for slot in Slot::ALL {
            let (old, new) = (
                self.before.slot_text(id, slot),
                self.after.slot_text(id, slot),
            );
            if self.is_same_text(old, new) {
                continue;
            }
            if !new.is_empty() {
                return None;
            }
            self.edits.lost_comments.push((id, slot));
        }
        Some(())
    }

    fn children(&mut self, id: NodeId) -> Option<()> {
        let (before, after) = (self.before.node(id), self.after.node(id));
        match before.is_mapping() {
            true => self.fields(id, before, after),
            false => self.items(id, before, after),
        }
    }

    fn fields(&mut self, id: NodeId, before: NodeRef<'a>, after: NodeRef<'a>) -> Option<()> {
        let mut old = before.entries();
        let mut has_removed = false;
        let mut new = after.entries();
        for (key, value) in new.by_ref() {
            if self.is_new(key.id) {
                // Everything behind a new field is new, or fields have changed places.
                if new.any(|(key, _)| !self.is_new(key.id)) || has_removed || old.next().is_some() {
                    return None;
                }
                self.edits.added.push(AddedFields {
                    mapping: id,
                    first_key: key.id,
                });
                return Some(());
            }
            loop {
                let (old_key, old_value) = old.next()?;
                if old_key.id == key.id {
                    if old_value.id != value.id {
                        return None;
                    }
                    break;
                }
                has_removed = true;
            }
            let values = self.edits.values.len();
            self.node(Some(id), key.id)?;
            if self.edits.values.len() > values {
                // Another key is another field.
                return None;
            }
            self.node(Some(id), value.id)?;
        }
        self.edits.has_removed |= has_removed || old.next().is_some();
        Some(())
    }

    fn items(&mut self, id: NodeId, before: NodeRef<'a>, after: NodeRef<'a>) -> Option<()> {
        let (mut old, mut new) = (before.items(), after.items());
        loop {
            match (old.next(), new.next()) {
                (None, None) => return Some(()),
                (Some(old), Some(new)) if old.id == new.id => self.node(Some(id), new.id)?,
                _ => return None,
            }
        }
    }

    fn is_same_text(&self, old: Text, new: Text) -> bool {
        old == new || self.before.text(old) == self.after.text(new)
    }

    fn has_same_tag(&self, id: NodeId) -> bool {
        self.before.node_data(id).tag == self.after.node_data(id).tag
            || self.before.node(id).tag() == self.after.node(id).tag()
    }
}

#[cfg(test)]
mod tests;
