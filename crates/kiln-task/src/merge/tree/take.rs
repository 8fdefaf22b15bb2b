//! Takes values of the new upstream, and merges comments.

use kiln_yaml::{Document, Kind, NodeId, NodeRef, Slot, Style, TypeId};

use super::super::comments::{Comments, add_above};
use super::super::transplant::transplant_comments;
use super::{FieldEntries, FieldEntry, Merge, MergeStyle};

impl Merge<'_> {
    /// The local entry of a field. If it is missing, creates it with the key of the new upstream.
    pub(super) fn entry_of(&mut self, entries: FieldEntries, kind: Kind) -> Option<FieldEntry> {
        if let Some((key, value)) = entries[0]
            && self.local.node(value).kind() == kind
        {
            self.field_comments(entries);
            return Some((key, value));
        }
        let (updated_key, updated_value) = entries[2]?;
        let key = self.local.import(self.updated.node(updated_key));
        let value = match kind {
            Kind::Sequence => self.local.new_sequence_node(),
            _ => self.local.new_mapping_node(),
        };
        if self.style == MergeStyle::Kiln {
            Comments::of(Some(self.updated.node(updated_value))).set(self.local, value);
        }
        Some((key, value))
    }

    /// The entry of the new upstream, in the style and with the comments of the local one.
    pub(super) fn take(&mut self, entries: FieldEntries) -> Option<FieldEntry> {
        let (updated_key, updated_value) = entries[2]?;
        let from = self.updated.node(updated_value);
        let new = self.local.import(from);
        let Some((key, old)) = entries[0] else {
            let key = self.local.import(self.updated.node(updated_key));
            self.quote_like_kpt(new);
            return Some((key, new));
        };
        if self.style == MergeStyle::Kpt {
            let style = self.local.node(old).style();
            self.local.set_style(new, style);
            return Some((key, new));
        }
        let old_node = self.local.node(old);
        if old_node.kind() == from.kind() {
            let ids = [
                Some(old),
                entries[1].map(|(_, value)| value),
                Some(updated_value),
            ];
            if let Some(style) = kept_style(old_node, from) {
                self.local.set_style(new, style);
            }
            self.taken_comments(ids, new, key);
            transplant_comments(self.local, old, new);
        } else {
            let key_line = self.local.node(key).comment(Slot::Line).to_owned();
            let comments = Comments::of(Some(old_node));
            self.local.set_comment(key, Slot::Line, "");
            for line in comments.lines().chain(key_line.lines()) {
                add_above(self.local, key, line);
            }
        }
        self.key_comments(entries);
        Some((key, new))
    }

    /// Quotes a text that older YAML reads as another type, as kpt does with every field that it visits.
    pub(super) fn quote_like_kpt(&mut self, value: NodeId) {
        let node = self.local.node(value);
        let is_plain = node.is_scalar() && !node.style().is_quoted_or_block();
        let is_text = node.tag() == "!!str";
        let is_ambiguous = is_plain && is_text && kiln_yaml::is_yaml_1_1_non_string(node.value());
        if is_ambiguous && self.style == MergeStyle::Kpt {
            let style = node.style().with(Style::DOUBLE_QUOTED);
            self.local.set_style(value, style);
        }
    }

    pub(super) fn field_comments(&mut self, entries: FieldEntries) {
        let [Some((_, value)), _, Some(_)] = entries else {
            return;
        };
        self.key_comments(entries);
        let ids = entries.map(|entry| entry.map(|(_, value)| value));
        let same_kind =
            self.sides(ids).updated.map(NodeRef::kind) == Some(self.local.node(value).kind());
        if same_kind {
            self.merge_comments(ids, value);
        }
    }

    pub(super) fn key_comments(&mut self, entries: FieldEntries) {
        if let Some((key, _)) = entries[0] {
            self.merge_comments(entries.map(|entry| entry.map(|(key, _)| key)), key);
        }
    }

    /// Sets the merged comments of three nodes.
    pub(super) fn merge_comments(&mut self, ids: [Option<NodeId>; 3], target: NodeId) {
        if self.style == MergeStyle::Kpt {
            return;
        }
        let [local, origin, updated] = self.comments(ids);
        Comments::merge(&local, &origin, &updated).set(self.local, target);
    }

    /// Sets the merged comments of a value from the new upstream. If both sides have a line comment, it describes their own
    /// value, so the local one goes above the key.
    pub(super) fn taken_comments(&mut self, ids: [Option<NodeId>; 3], target: NodeId, key: NodeId) {
        let [local, origin, updated] = self.comments(ids);
        let merged = Comments::merge(&local, &origin, &updated);
        let lines = [local.line(), origin.line(), updated.line()];
        if lines[2].is_empty() || lines[0] == lines[2] {
            return merged.set(self.local, target);
        }
        if !lines[0].is_empty() && lines[0] != lines[1] {
            add_above(self.local, key, lines[0]);
        }
        merged.with_line(lines[2]).set(self.local, target);
    }

    pub(super) fn comments(&self, ids: [Option<NodeId>; 3]) -> [Comments; 3] {
        let sides = self.sides(ids);
        [sides.local, sides.origin, sides.updated].map(Comments::of)
    }

    /// The type that a comment of a field declares.
    pub(super) fn declared_type(&mut self, entries: FieldEntries) -> Option<TypeId> {
        let docs = [Some(&*self.local), self.origin, Some(self.updated)];
        let declaration = docs.into_iter().zip(entries).find_map(|(doc, entry)| {
            let (doc, (key, value)) = (doc?, entry?);
            [value, key]
                .into_iter()
                .flat_map(|id| [Slot::Line, Slot::Head].map(|slot| doc.node(id).comment(slot)))
                .find_map(declaration)
        })?;
        self.types.declared(declaration.root())
    }
}

/// The schema in a comment, if there is one.
fn declaration(comment: &str) -> Option<Document> {
    let text = comment.trim_start_matches('#').trim();
    if !text.starts_with('{') || !text.ends_with('}') || text.contains('\n') {
        return None;
    }
    kiln_yaml::parse(text).ok().flatten()
}

/// The style that a new value keeps from the old one: quotes or flow style.
fn kept_style(old: NodeRef<'_>, new: NodeRef<'_>) -> Option<Style> {
    let is_block = |node: NodeRef<'_>| {
        node.style().contains(Style::LITERAL) || node.style().contains(Style::FOLDED)
    };
    let fits = match old.kind() {
        Kind::Scalar => {
            let are_texts = old.tag() == "!!str" && new.tag() == "!!str";
            are_texts && !is_block(old) && !is_block(new) && !new.value().contains('\n')
        }
        Kind::Mapping | Kind::Sequence => !old.is_empty() && !new.is_empty(),
        Kind::Alias => false,
    };
    fits.then(|| old.style())
}
