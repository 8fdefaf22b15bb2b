//! Merges comments: local comments stay, unless their field is removed.
//!
//! The original keeps the comments of the side that a value is taken from, and drops the others. Here a comment that only the new
//! upstream has added or changed is taken, one that it has removed stays, one that was removed locally is not added again, and
//! if both sides have changed it the local one stays.

use kiln_yaml::{Document, Kind, NodeId, NodeRef, Slot, Style};

/// The head, line and foot comment of a node.
#[derive(Clone, Default)]
pub(super) struct Comments([String; 3]);

impl Comments {
    pub(super) fn of(node: Option<NodeRef<'_>>) -> Comments {
        let text = |slot| node.map_or("", |node| node.comment(slot)).to_owned();
        Comments(Slot::ALL.map(text))
    }

    pub(super) fn of_document(doc: &Document) -> Comments {
        Comments(Slot::ALL.map(|slot| doc.comment(slot).to_owned()))
    }

    pub(super) fn merge(local: &Comments, origin: &Comments, updated: &Comments) -> Comments {
        let mut merged = Comments::default();
        for (index, slot) in Slot::ALL.into_iter().enumerate() {
            let (local, origin) = (&local.0[index], &origin.0[index]);
            merged.0[index] = merge_text(local, origin, &updated.0[index], slot);
        }
        merged
    }

    pub(super) fn line(&self) -> &str {
        &self.0[1]
    }

    pub(super) fn with_line(mut self, line: &str) -> Comments {
        line.clone_into(&mut self.0[1]);
        self
    }

    pub(super) fn set(&self, doc: &mut Document, node: NodeId) {
        for (text, slot) in self.0.iter().zip(Slot::ALL) {
            if doc.node(node).comment(slot) != text {
                doc.set_comment(node, slot, text);
            }
        }
    }

    pub(super) fn set_document(&self, doc: &mut Document) {
        for (text, slot) in self.0.iter().zip(Slot::ALL) {
            if doc.comment(slot) != text {
                doc.set_document_comment(slot, text);
            }
        }
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|text| text.lines())
    }
}

/// Adds a line above a node, unless it exists.
pub(super) fn add_above(doc: &mut Document, node: NodeId, line: &str) {
    let head = doc.node(node).comment(Slot::Head);
    if head.lines().any(|present| present == line) {
        return;
    }
    let head = if head.is_empty() {
        line.to_owned()
    } else {
        format!("{head}\n{line}")
    };
    doc.set_comment(node, Slot::Head, &head);
}

/// Moves line comments to the nodes where the encoder writes them: to the key of a block, to the value of everything else.
pub(super) fn move_line_comments(doc: &mut Document) {
    let mut pending = vec![doc.root().id()];
    while let Some(id) = pending.pop() {
        let node = doc.node(id);
        let entries: Vec<_> = node
            .entries()
            .map(|(key, value)| (key.id(), value.id()))
            .collect();
        pending.extend(doc.child_ids(id));
        for (key, value) in entries {
            let node = doc.node(value);
            let is_collection = matches!(node.kind(), Kind::Mapping | Kind::Sequence);
            let is_block = is_collection && !node.is_empty() && !node.style().contains(Style::FLOW);
            let (from, to) = if is_block { (value, key) } else { (key, value) };
            let line = doc.node(from).comment(Slot::Line).to_owned();
            if line.is_empty() || !is_collection {
                continue;
            }
            doc.set_comment(from, Slot::Line, "");
            match doc.node(to).comment(Slot::Line).is_empty() {
                true => doc.set_comment(to, Slot::Line, &line),
                false => add_above(doc, key, &line),
            }
        }
    }
}

fn merge_text(local: &str, origin: &str, updated: &str, slot: Slot) -> String {
    if updated.is_empty() || updated == origin {
        return local.to_owned();
    }
    if local == origin {
        return updated.to_owned();
    }
    if local.is_empty() || slot == Slot::Line {
        return local.to_owned();
    }
    let mut text = local.to_owned();
    for line in updated.lines() {
        if !local.lines().any(|present| present == line) {
            text.push('\n');
            text.push_str(line);
        }
    }
    text
}
