//! The three-way merge of trees: applies the changes from the origin to the new upstream to the local tree.
//!
//! The rules are kpt's, which are kyaml's except for nulls: fields are merged by name, lists by key if their type has keys,
//! everything else as a whole. If both sides have changed a node, the new upstream wins and a conflict is recorded. Unlike the
//! original, values of different kinds are a conflict and not an error, no empty mappings remain where fields were removed,
//! comments stay, and a local null stays as long as the upstream does not change the field.
//!
//! Pending work is a stack of tasks, because trees may be deeper than the call stack. The caller resolves aliases; a
//! remaining one is merged as a whole.

mod lists;
mod take;
mod text;

use std::collections::{BTreeMap, HashSet};

use kiln_yaml::{Document, Kind, NodeId, NodeRef, Style, TypeId};

use super::comments::{Comments, move_line_comments};
use super::conflict::{Conflict, Taken};
use super::decide::{Decision, Sides, decide};
use super::items::Group;
use super::path::{ConflictStep, PathId, Paths};
use super::schema::ListTypes;
use text::short_text;

/// The trees to merge. Without an origin, both sides have added everything.
pub(super) struct Trees<'a> {
    pub(super) local: &'a mut Document,
    pub(super) origin: Option<&'a Document>,
    pub(super) updated: &'a Document,
}

/// Which lists are merged by key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lists {
    /// Lists whose type has keys.
    BySchema,
    /// Also lists of unknown type whose items all have names.
    Inferred,
}

/// Whose result is wanted where kpt's is less than what the user would expect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MergeStyle {
    /// Comments of both sides, the order of the upstream in what it adds, no empty mappings.
    Kiln,
    /// A value is taken with its own comments, and added mappings are sorted.
    Kpt,
}

/// A field that was changed on both sides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct FieldConflict {
    pub(super) field: String,
    pub(super) origin: Option<String>,
    pub(super) local: Option<String>,
    pub(super) upstream: Option<String>,
    pub(super) taken: Taken,
}

impl FieldConflict {
    pub(super) fn at(self, path: &str, resource: Option<String>) -> Conflict {
        Conflict {
            path: path.to_owned(),
            resource,
            field: Some(self.field),
            origin: self.origin,
            local: self.local,
            upstream: self.upstream,
            taken: self.taken,
        }
    }
}

/// Merges into the local tree, which stays unchanged if there is nothing to merge.
pub(super) fn merge_trees(
    trees: Trees<'_>,
    types: &mut ListTypes,
    lists: Lists,
) -> Vec<FieldConflict> {
    merge_trees_in_style(trees, types, lists, MergeStyle::Kiln)
}

/// The same with another result in details.
pub(super) fn merge_trees_in_style(
    trees: Trees<'_>,
    types: &mut ListTypes,
    lists: Lists,
    style: MergeStyle,
) -> Vec<FieldConflict> {
    let mut merge = Merge {
        style,
        local: trees.local,
        origin: trees.origin,
        updated: trees.updated,
        types,
        lists,
        paths: Paths::default(),
        tasks: Vec::new(),
        conflicts: Vec::new(),
    };
    merge.root();
    while let Some(task) = merge.tasks.pop() {
        match task {
            MergeTask::Fields(fields) => merge.fields(fields),
            MergeTask::Items(items) => merge.items(items),
            MergeTask::DropIfEmpty { parent, value } => merge.drop_if_empty(parent, value),
            MergeTask::DropBareItem { list, item, keys } => merge.drop_bare_item(list, item, &keys),
        }
    }
    if !merge.local.is_unchanged() && merge.style == MergeStyle::Kiln {
        move_line_comments(merge.local);
    }
    merge.innermost_conflicts()
}

struct Merge<'a> {
    style: MergeStyle,
    local: &'a mut Document,
    origin: Option<&'a Document>,
    updated: &'a Document,
    types: &'a mut ListTypes,
    lists: Lists,
    paths: Paths,
    tasks: Vec<MergeTask>,
    conflicts: Vec<(PathId, FieldConflict)>,
}

enum MergeTask {
    Fields(FieldMerge),
    Items(ItemMerge),
    /// Removes a mapping if it has no fields after the merge.
    DropIfEmpty {
        parent: NodeId,
        value: NodeId,
    },
    /// Removes an item that the upstream has removed if only its keys remain.
    DropBareItem {
        list: NodeId,
        item: NodeId,
        keys: Vec<String>,
    },
}

struct FieldMerge {
    local: NodeId,
    origin: Option<NodeId>,
    updated: Option<NodeId>,
    of: Option<TypeId>,
    path: PathId,
    /// Fields that are not merged.
    fixed: Vec<String>,
}

struct ItemMerge {
    list: NodeId,
    groups: Vec<Group>,
    keys: Vec<String>,
    of: Option<TypeId>,
    path: PathId,
}

type FieldEntry = (NodeId, NodeId);

/// A field on three sides: local, origin, updated.
type FieldEntries = [Option<FieldEntry>; 3];

impl Merge<'_> {
    fn root(&mut self) {
        let (local, updated) = (self.local.root().id(), self.updated.root().id());
        let origin = self.origin.map(|doc| doc.root().id());
        if self.style == MergeStyle::Kiln {
            let comments = Comments::merge(
                &Comments::of_document(self.local),
                &self.origin.map(Comments::of_document).unwrap_or_default(),
                &Comments::of_document(self.updated),
            );
            comments.set_document(self.local);
        }
        self.merge_comments([Some(local), origin, Some(updated)], local);
        let ids = [Some(local), origin, Some(updated)];
        let of = self.type_of(ids, None);
        let decision = self.decide(ids, of, Paths::ROOT);
        match decision {
            Decision::Take => {
                let new = self.local.import(self.updated.root());
                self.local.set_root(new);
            }
            Decision::Fields => self.tasks.push(MergeTask::Fields(FieldMerge {
                local,
                origin,
                updated: Some(updated),
                of,
                path: Paths::ROOT,
                fixed: Vec::new(),
            })),
            Decision::Items { groups, keys } => self.tasks.push(MergeTask::Items(ItemMerge {
                list: local,
                groups,
                keys,
                of,
                path: Paths::ROOT,
            })),
            Decision::Keep | Decision::Clear => {}
        }
    }

    fn fields(&mut self, task: FieldMerge) {
        let mut children = entries(self.local, task.local);
        let before = children.len();
        let mut is_changed = false;
        for (name, entries) in self.fields_by_name(&task) {
            if task.fixed.contains(&name) {
                continue;
            }
            let values = entries.map(|entry| entry.map(|(_, value)| value));
            let field_type = task.of.and_then(|of| self.types.field(of, &name));
            let declared = self.declared_type(entries);
            let of = self.type_of(values, declared.or(field_type));
            let path = self.paths.add(task.path, ConflictStep::Field(name));
            let new = match self.decide(values, of, path) {
                Decision::Keep => {
                    if let Some((_, value)) = entries[0] {
                        self.quote_like_kpt(value);
                    }
                    self.field_comments(entries);
                    continue;
                }
                Decision::Clear => None,
                Decision::Take => self.take(entries),
                Decision::Fields => {
                    let Some(entry) = self.entry_of(entries, Kind::Mapping) else {
                        continue;
                    };
                    let was_empty = entries[0].is_some() && self.local.node(entry.1).is_empty();
                    let is_wanted = entries[0].is_some() && self.sides(values).has_updated();
                    if !was_empty && !is_wanted && self.style == MergeStyle::Kiln {
                        self.tasks.push(MergeTask::DropIfEmpty {
                            parent: task.local,
                            value: entry.1,
                        });
                    }
                    self.tasks.push(MergeTask::Fields(FieldMerge {
                        local: entry.1,
                        origin: values[1],
                        updated: values[2],
                        of,
                        path,
                        fixed: Vec::new(),
                    }));
                    Some(entry)
                }
                Decision::Items { groups, keys } => {
                    let Some(entry) = self.entry_of(entries, Kind::Sequence) else {
                        continue;
                    };
                    self.tasks.push(MergeTask::Items(ItemMerge {
                        list: entry.1,
                        groups,
                        keys,
                        of,
                        path,
                    }));
                    Some(entry)
                }
            };
            let index = entries[0].and_then(|old| children.iter().position(|one| *one == old));
            match (index, new) {
                (Some(index), Some(new)) => {
                    is_changed |= children[index] != new;
                    children[index] = new;
                }
                (Some(index), None) => {
                    is_changed = true;
                    children.remove(index);
                }
                (None, Some(new)) => children.push(new),
                (None, None) => {}
            }
        }
        if is_changed || children.len() != before {
            let flat: Vec<NodeId> = children.into_iter().flat_map(|(k, v)| [k, v]).collect();
            self.set_block_style(task.local);
            self.local.set_children(task.local, &flat);
        }
    }

    /// Writes a collection as a block if it was `{}` or `[]` only because it was empty.
    fn set_block_style(&mut self, collection: NodeId) {
        let node = self.local.node(collection);
        if node.is_empty() && node.style().contains(Style::FLOW) {
            let style = node.style().without(Style::FLOW);
            self.local.set_style(collection, style);
        }
    }

    fn drop_if_empty(&mut self, parent: NodeId, value: NodeId) {
        if !self.local.node(value).is_empty() {
            return;
        }
        let mut children = entries(self.local, parent);
        children.retain(|(_, child)| *child != value);
        let flat: Vec<NodeId> = children.into_iter().flat_map(|(k, v)| [k, v]).collect();
        self.local.set_children(parent, &flat);
    }

    fn decide(&mut self, ids: [Option<NodeId>; 3], of: Option<TypeId>, path: PathId) -> Decision {
        let sides = self.sides(ids);
        let keys = of.map(|of| self.types.keys(of));
        let (decision, conflict) = decide(sides, keys, self.lists, self.style);
        if let Some(taken) = conflict {
            self.note(path, ids, taken);
        }
        decision
    }

    fn note(&mut self, path: PathId, ids: [Option<NodeId>; 3], taken: Taken) {
        let sides = self.sides(ids);
        let conflict = FieldConflict {
            field: self.paths.text(path),
            origin: sides.origin.map(short_text),
            local: sides.local.map(short_text),
            upstream: sides.updated.map(short_text),
            taken,
        };
        self.conflicts.push((path, conflict));
    }

    /// The conflicts without those of mappings whose fields have conflicts.
    fn innermost_conflicts(self) -> Vec<FieldConflict> {
        let inner = self.conflicts.iter().map(|(path, _)| *path);
        let outer: HashSet<PathId> = inner.flat_map(|path| self.paths.parents(path)).collect();
        let conflicts = self.conflicts.into_iter();
        let innermost_conflicts = conflicts.filter(|(path, _)| !outer.contains(path));
        innermost_conflicts.map(|(_, conflict)| conflict).collect()
    }

    fn sides(&self, [local, origin, updated]: [Option<NodeId>; 3]) -> Sides<'_> {
        Sides {
            local: local.map(|id| self.local.node(id)),
            origin: origin.and_then(|id| Some(self.origin?.node(id))),
            updated: updated.map(|id| self.updated.node(id)),
        }
    }

    /// The type of a node: the one from its parent, or that of a resource that starts here.
    fn type_of(&self, ids: [Option<NodeId>; 3], of: Option<TypeId>) -> Option<TypeId> {
        let sides = self.sides(ids);
        of.or_else(|| sides.all().find_map(|node| self.types.resource(node)))
    }

    fn fields_by_name(&self, task: &FieldMerge) -> BTreeMap<String, FieldEntries> {
        let mut fields: BTreeMap<String, FieldEntries> = BTreeMap::new();
        let ids = [Some(task.local), task.origin, task.updated];
        let sides = self.sides(ids);
        for (index, side) in [sides.local, sides.origin, sides.updated]
            .into_iter()
            .enumerate()
        {
            for (key, value) in side.into_iter().flat_map(NodeRef::entries) {
                let entries = fields.entry(key.value().to_owned()).or_default();
                entries[index].get_or_insert((key.id(), value.id()));
            }
        }
        fields
    }
}

fn entries(doc: &Document, mapping: NodeId) -> Vec<FieldEntry> {
    let entries = doc.node(mapping).entries();
    entries.map(|(key, value)| (key.id(), value.id())).collect()
}
