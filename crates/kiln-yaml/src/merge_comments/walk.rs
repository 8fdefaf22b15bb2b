//! The walk over two trees at once, in the order in which kyaml goes, because the first error is the one reported.
//!
//! What is still to do is a stack of tasks: the trees may be deeper than any call stack.

use super::fields::{nameless_text, union, walked_text};
use super::keyed::{KeyedItems, pair_by_key};
use super::{ListKeys, Mismatch, SLOTS, Start, TypeId};
use crate::document::{Document, Slot};
use crate::edit::{EditError, node_text};
use crate::emit::{SequenceStyle, to_string};
use crate::list_pairs::pair_items;
use crate::node::{Kind, NodeId, Style};
use crate::noderef::NodeRef;

pub(super) struct CommentMerge<'a> {
    from: &'a Document,
    to: &'a mut Document,
    keys: &'a dyn ListKeys,
    mismatch: Mismatch,
    /// The roots of documents, whose comments are copied instead of theirs.
    hidden_from: Option<NodeId>,
    hidden_to: Option<NodeId>,
    tasks: Vec<MergeTask>,
}

enum MergeTask {
    /// Two nodes that stand for each other; one of them may be missing.
    Pair {
        from: Option<NodeId>,
        to: Option<NodeId>,
        of: Option<TypeId>,
    },
    /// A field: its key on both sides, then its value.
    Field {
        from: Option<(NodeId, NodeId)>,
        to: Option<(NodeId, NodeId)>,
        of: Option<TypeId>,
    },
    /// Items by index, from these on.
    Items { from: NodeId, to: NodeId },
    Keyed {
        from: NodeId,
        to: Option<NodeId>,
        of: TypeId,
    },
    /// A mapping of the original with a nameless key.
    Nameless(NodeId),
    /// An item of the original that a keyed list cannot have, with the text it has by then.
    Unkeyed {
        expected: Kind,
        item: NodeId,
        contents: String,
    },
}

impl<'a> CommentMerge<'a> {
    pub(super) fn new(
        (from, from_start): (&'a Document, Start),
        (to, to_start): (&'a mut Document, Start),
        keys: &'a dyn ListKeys,
        mismatch: Mismatch,
    ) -> CommentMerge<'a> {
        let (top_from, top_to) = (from_start.node(from), to_start.node(to));
        CommentMerge {
            from,
            to,
            keys,
            mismatch,
            hidden_from: (from_start == Start::Document).then_some(top_from),
            hidden_to: (to_start == Start::Document).then_some(top_to),
            tasks: vec![MergeTask::Pair {
                from: Some(top_from),
                to: Some(top_to),
                of: None,
            }],
        }
    }

    pub(super) fn run(mut self) -> Result<(), EditError> {
        while let Some(task) = self.tasks.pop() {
            match task {
                MergeTask::Pair { from, to, of } => self.pair(from, to, of)?,
                MergeTask::Field { from, to, of } => self.field(from, to, of),
                MergeTask::Items { from, to } => self.items(from, to),
                MergeTask::Keyed { from, to, of } => self.keyed(from, to, of),
                MergeTask::Nameless(_) | MergeTask::Unkeyed { .. }
                    if self.mismatch == Mismatch::PassOver => {}
                MergeTask::Nameless(mapping) => {
                    return Err(EditError::WrongKind {
                        expected: Kind::Scalar,
                        found: Kind::Mapping,
                        contents: nameless_text(self.from.node(mapping)),
                    });
                }
                MergeTask::Unkeyed {
                    expected,
                    item,
                    contents,
                } => {
                    return Err(EditError::WrongKind {
                        expected,
                        found: self.from.node(item).kind(),
                        contents,
                    });
                }
            }
        }
        Ok(())
    }

    fn pair(
        &mut self,
        from: Option<NodeId>,
        to: Option<NodeId>,
        of: Option<TypeId>,
    ) -> Result<(), EditError> {
        let of = self.type_of(from, to, of);
        let real_from = from.filter(|id| !self.from.node(*id).is_tagged_null());
        let real_to = to.filter(|id| !self.to.node(*id).is_tagged_null());
        let kind = real_from
            .map(|id| self.from.node(id).kind())
            .or_else(|| real_to.map(|id| self.to.node(id).kind()));
        if kind == Some(Kind::Alias) {
            return Ok(());
        }
        if let (Some(kind), Some(to)) = (kind, real_to)
            && self.to.node(to).kind() != kind
        {
            return match self.mismatch {
                Mismatch::Fail => Err(self.wrong_kind(kind, to)),
                Mismatch::PassOver => Ok(()),
            };
        }
        if kind == Some(Kind::Scalar) {
            self.unfold(to);
        }
        self.copy(from, to);
        let Some(from) = from else {
            return Ok(());
        };
        match kind {
            None | Some(Kind::Mapping) => self.push_fields(from, to, of),
            Some(Kind::Sequence) => self.push_items(from, to, of),
            Some(Kind::Scalar | Kind::Alias) => {}
        }
        Ok(())
    }

    fn push_fields(&mut self, from: NodeId, to: Option<NodeId>, of: Option<TypeId>) {
        let from_node = self.from.node(from);
        let fields = union(from_node, to.map(|to| self.to.node(to)));
        let ids = |(key, value): (NodeRef<'_>, NodeRef<'_>)| (key.id(), value.id());
        let first = self.tasks.len();
        for (name, from_entry, to_entry) in fields {
            self.tasks.push(MergeTask::Field {
                from: from_entry.map(ids),
                to: to_entry.map(ids),
                of: of.and_then(|of| self.keys.field(of, name)),
            });
            if name.is_empty() && !from_node.is_tagged_null() {
                self.tasks.push(MergeTask::Nameless(from));
                break;
            }
        }
        if let Some(added) = self.tasks.get_mut(first..) {
            added.reverse();
        }
    }

    fn push_items(&mut self, from: NodeId, to: Option<NodeId>, of: Option<TypeId>) {
        if self.mismatch == Mismatch::PassOver {
            return self.push_same_items(from, to);
        }
        if let Some(of) = of.filter(|of| self.keys.keys(*of).is_some()) {
            self.tasks.push(MergeTask::Keyed { from, to, of });
        }
        let first_from = self.from.node(from).first_child();
        let first_to = to.and_then(|to| self.to.node(to).first_child());
        if let (Some(from), Some(to)) = (first_from, first_to) {
            let (from, to) = (from.id(), to.id());
            self.tasks.push(MergeTask::Items { from, to });
        }
    }

    fn push_same_items(&mut self, from: NodeId, to: Option<NodeId>) {
        let Some(to) = to else {
            return;
        };
        let pairs = pair_items(self.from.node(from), self.to.node(to));
        for (from, to) in pairs.iter().rev() {
            self.tasks.push(MergeTask::Pair {
                from: Some(from.id()),
                to: Some(*to),
                of: None,
            });
        }
        for (from, to) in pairs {
            self.remove_lifted_head(from, to);
        }
    }

    /// Removes a comment above an item that is above its first field in the original: libraries in Go write it there. It
    /// comes back where it was.
    fn remove_lifted_head(&mut self, from: NodeRef<'_>, to: NodeId) {
        let below = from.first_child().map(|first| first.comment(Slot::Head));
        let Some(below) = below.filter(|below| !below.is_empty()) else {
            return;
        };
        let (own, item) = (from.comment(Slot::Head), self.to.node(to));
        let head = item.comment(Slot::Head);
        let is_lifted = own != head
            && (head == below || head.strip_prefix(own).map(str::trim_start) == Some(below));
        if is_lifted {
            self.to.set_comment(to, Slot::Head, own);
        }
    }

    fn field(
        &mut self,
        from: Option<(NodeId, NodeId)>,
        to: Option<(NodeId, NodeId)>,
        of: Option<TypeId>,
    ) {
        let from_key = from
            .map(|(key, _)| key)
            .filter(|key| !self.from.node(*key).is_tagged_null());
        let to_key = to
            .map(|(key, _)| key)
            .filter(|key| !self.to.node(*key).is_tagged_null());
        self.unfold(to_key);
        self.copy(from_key, to_key);
        let declared = |doc: &Document, (key, value): (NodeId, NodeId)| {
            self.declared(doc.node(value))
                .or_else(|| self.declared(doc.node(key)))
        };
        let declared = from
            .and_then(|entry| declared(self.from, entry))
            .or_else(|| to.and_then(|entry| declared(self.to, entry)));
        self.tasks.push(MergeTask::Pair {
            from: from.map(|(_, value)| value),
            to: to.map(|(_, value)| value),
            of: declared.or(of),
        });
    }

    /// One pair of items, if they have the same text (collections have none), and after it those that follow.
    ///
    /// Each pair begins a walk of its own: the type of the list is not used for its items.
    fn items(&mut self, from: NodeId, to: NodeId) {
        let (from_node, to_node) = (self.from.node(from), self.to.node(to));
        if let (Some(next_from), Some(next_to)) = (from_node.next_sibling(), to_node.next_sibling())
        {
            self.tasks.push(MergeTask::Items {
                from: next_from.id(),
                to: next_to.id(),
            });
        }
        if from_node.value() == to_node.value() {
            self.tasks.push(MergeTask::Pair {
                from: Some(from),
                to: Some(to),
                of: None,
            });
            self.copy(Some(from), Some(to));
        }
    }

    fn keyed(&mut self, from: NodeId, to: Option<NodeId>, of: TypeId) {
        let Some(keys) = self.keys.keys(of) else {
            return;
        };
        let item_type = self.keys.item(of);
        let to_list = to.map(|to| self.to.node(to));
        let KeyedItems { pairs, unkeyed } = pair_by_key(self.from.node(from), to_list, keys);
        if let Some((expected, item)) = unkeyed {
            let node = self.from.node(item);
            let walked = pairs.iter().any(|(from, _)| *from == Some(item));
            self.tasks.push(MergeTask::Unkeyed {
                expected,
                item,
                contents: if walked {
                    walked_text(node)
                } else {
                    node_text(node)
                },
            });
        }
        for (from, to) in pairs.into_iter().rev() {
            let of = item_type;
            self.tasks.push(MergeTask::Pair { from, to, of });
        }
    }

    /// The type in a comment at the node.
    fn declared(&self, node: NodeRef<'_>) -> Option<TypeId> {
        let comment = [Slot::Line, Slot::Head]
            .into_iter()
            .map(|slot| node.comment(slot))
            .find(|comment| !comment.is_empty())?;
        self.keys.declared(comment.trim_start_matches('#'))
    }

    /// The type of a pair: declared by a comment, known from above, or that of a resource that begins here.
    fn type_of(
        &self,
        from: Option<NodeId>,
        to: Option<NodeId>,
        of: Option<TypeId>,
    ) -> Option<TypeId> {
        let nodes = [
            from.map(|id| self.from.node(id)),
            to.map(|id| self.to.node(id)),
        ];
        let nodes = || nodes.into_iter().flatten().filter(|n| !n.is_tagged_null());
        nodes()
            .find_map(|node| self.declared(node))
            .or(of)
            .or_else(|| nodes().find_map(|node| self.resource_type(node)))
    }

    fn resource_type(&self, node: NodeRef<'_>) -> Option<TypeId> {
        let text = |name| {
            let (_, value) = node.field(name)?;
            (!value.is_tagged_null() && !value.value().is_empty()).then(|| value.value())
        };
        self.keys.resource(text("apiVersion")?, text("kind")?)
    }

    fn copy(&mut self, from: Option<NodeId>, to: Option<NodeId>) {
        let (Some(from), Some(to)) = (from, to) else {
            return;
        };
        let node = self.from.node(from);
        let hidden = self.hidden_from == Some(from) || self.hidden_to == Some(to);
        if hidden || !node.has_extra() {
            return;
        }
        for slot in SLOTS {
            let comment = node.comment(slot);
            if !comment.is_empty() && self.to.node(to).comment(slot).is_empty() {
                self.to.set_comment(to, slot, comment);
            }
        }
    }

    /// Makes a folded scalar double-quoted: go-yaml writes line comments of folded ones without a space.
    fn unfold(&mut self, to: Option<NodeId>) {
        if let Some(to) = to
            && self.hidden_to != Some(to)
            && self.to.node(to).style() == Style::FOLDED
        {
            self.to.set_style(to, Style::DOUBLE_QUOTED);
        }
    }

    fn wrong_kind(&self, expected: Kind, to: NodeId) -> EditError {
        let mut error = EditError::wrong_kind(expected, self.to.node(to));
        if let EditError::WrongKind { contents, .. } = &mut error
            && self.hidden_to == Some(to)
        {
            *contents = to_string(self.to, SequenceStyle::Compact);
        }
        error
    }
}
