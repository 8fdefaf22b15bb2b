//! The items of lists that are merged by key.

use kiln_yaml::{NodeId, NodeRef, TypeId};

use super::super::conflict::Taken;
use super::super::decide::{Sides, is_regular, opt_eq};
use super::super::items::Group;
use super::super::path::ConflictStep;
use super::{FieldMerge, ItemMerge, Merge, MergeStyle, MergeTask};

impl Merge<'_> {
    pub(super) fn items(&mut self, task: ItemMerge) {
        let before = self.local.child_ids(task.list);
        let item_type = task.of.and_then(|of| self.types.item(of));
        let mut children = Vec::new();
        for group in &task.groups {
            let item = match task.keys.is_empty() {
                true => self.member(group),
                false => self.item(group, &task, item_type),
            };
            children.extend(item);
        }
        if children != before {
            self.set_block_style(task.list);
            self.local.set_children(task.list, &children);
        }
    }

    /// Merges an item of a set.
    pub(super) fn member(&mut self, group: &Group) -> Option<NodeId> {
        let ids = [group.local, group.origin, group.updated];
        match (group.local, group.origin, group.updated) {
            (Some(_), Some(_), None) => None,
            (Some(local), _, _) => {
                self.merge_comments(ids, local);
                Some(local)
            }
            (None, None, Some(updated)) => Some(self.local.import(self.updated.node(updated))),
            (None, _, _) => None,
        }
    }

    pub(super) fn item(
        &mut self,
        group: &Group,
        task: &ItemMerge,
        of: Option<TypeId>,
    ) -> Option<NodeId> {
        let ids = [group.local, group.origin, group.updated];
        let step = ConflictStep::Item(self.label(ids, &task.keys));
        let path = self.paths.add(task.path, step);
        let of = self.type_of(ids, of);
        let sides = self.sides(ids);
        if !sides.all().all(is_regular) {
            return match decide_whole(sides) {
                true => group
                    .updated
                    .map(|id| self.local.import(self.updated.node(id))),
                false => group.local,
            };
        }
        let (local, fixed) = match (group.local, group.origin, group.updated) {
            (Some(local), _, Some(_)) => {
                self.merge_comments(ids, local);
                (local, Vec::new())
            }
            (Some(local), None, None) => return Some(local),
            (Some(_), Some(_), None) if opt_eq(sides.local, sides.origin) => return None,
            (Some(local), Some(_), None) => (local, task.keys.clone()),
            (None, None, Some(updated)) if self.style == MergeStyle::Kiln => {
                return Some(self.local.import(self.updated.node(updated)));
            }
            (None, None, Some(_)) => (self.local.new_mapping_node(), Vec::new()),
            (None, Some(_), Some(_)) if opt_eq(sides.origin, sides.updated) => return None,
            (None, Some(_), Some(updated)) => {
                self.note(path, ids, Taken::Upstream);
                (self.bare_item(updated, &task.keys), task.keys.clone())
            }
            (None, _, None) => return None,
        };
        if !fixed.is_empty() {
            self.tasks.push(MergeTask::DropBareItem {
                list: task.list,
                item: local,
                keys: fixed.clone(),
            });
        }
        self.tasks.push(MergeTask::Fields(FieldMerge {
            local,
            origin: group.origin,
            updated: group.updated,
            of,
            path,
            fixed,
        }));
        Some(local)
    }

    /// A new item with only the keys of another.
    pub(super) fn bare_item(&mut self, like: NodeId, keys: &[String]) -> NodeId {
        let item = self.local.new_mapping_node();
        for (key, value) in self.updated.node(like).entries() {
            if keys.iter().any(|name| name == key.value()) {
                let (key, value) = (self.local.import(key), self.local.import(value));
                self.local.push_entry(item, key, value);
            }
        }
        item
    }

    pub(super) fn label(&self, ids: [Option<NodeId>; 3], keys: &[String]) -> String {
        let sides = self.sides(ids);
        let item = sides.all().next();
        let value = |key: &String| {
            let value = item.and_then(|item| item.get(key)?.as_text());
            value.map(|value| format!("{key}={value}"))
        };
        let values: Vec<String> = keys.iter().filter_map(value).collect();
        values.join(",")
    }

    pub(super) fn drop_bare_item(&mut self, list: NodeId, item: NodeId, keys: &[String]) {
        let is_key = |field: &str| keys.iter().any(|name| name == field);
        if !names(self.local.node(item)).all(is_key) {
            return;
        }
        let mut children = self.local.child_ids(list);
        children.retain(|child| *child != item);
        self.local.set_children(list, &children);
    }
}

/// Whether an item that cannot be merged by fields is taken from the new upstream.
fn decide_whole(sides: Sides<'_>) -> bool {
    !opt_eq(sides.origin, sides.updated)
}

fn names(mapping: NodeRef<'_>) -> impl Iterator<Item = &str> {
    mapping.entries().map(|(key, _)| key.value())
}
