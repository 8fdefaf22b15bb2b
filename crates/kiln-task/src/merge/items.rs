//! Pairs the items of a list on three sides, by the values of the list's keys.
//!
//! An item without a second key, such as a port without its protocol, matches one that has it, if there is no better match. A
//! list with indistinguishable items cannot be paired, and is merged as a whole.

use std::collections::{HashMap, HashSet};

use kiln_yaml::{NodeId, NodeRef};

/// An item on three sides.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) local: Option<NodeId>,
    pub(super) origin: Option<NodeId>,
    pub(super) updated: Option<NodeId>,
}

type Values = Vec<String>;

/// Selects the item of a side in a group.
type Side = fn(&mut Group) -> &mut Option<NodeId>;

/// Pairs items. Without keys, items are identified by their text.
pub(super) fn pair_items(
    [local, origin, updated]: [Option<NodeRef<'_>>; 3],
    keys: &[String],
) -> Option<Vec<Group>> {
    let read = |list: Option<NodeRef<'_>>| match list {
        Some(list) => identified(list, keys),
        None => Some(Vec::new()),
    };
    let mut groups = Groups::default();
    let sides: [(_, Side); 3] = [
        (read(local)?, |group| &mut group.local),
        (read(origin)?, |group| &mut group.origin),
        (read(updated)?, |group| &mut group.updated),
    ];
    for (items, side) in sides {
        // Items with equal keys are paired first, so that partial matches cannot take their groups.
        let mut unmatched = Vec::new();
        for (values, item) in items {
            match groups.same(&values, side) {
                Some(index) => groups.join(index, values, item, side),
                None => unmatched.push((values, item)),
            }
        }
        for (values, item) in unmatched {
            match groups.like(&values, side) {
                Some(index) => groups.join(index, values, item, side),
                None => groups.begin(values, item, side),
            }
        }
    }
    Some(groups.groups.into_iter().map(|(_, group)| group).collect())
}

#[derive(Default)]
struct Groups {
    groups: Vec<(Vec<Values>, Group)>,
    /// Indexes of groups, by the value of the first key.
    indexes: HashMap<String, Vec<usize>>,
}

impl Groups {
    /// The group with equal keys in which a side has no item yet.
    fn same(&mut self, values: &Values, side: Side) -> Option<usize> {
        self.find(values, side, |known| known.contains(values))
    }

    /// The group whose keys are equal except for missing ones.
    fn like(&mut self, values: &Values, side: Side) -> Option<usize> {
        self.find(values, side, |known| {
            known.iter().all(|other| is_like(other, values))
        })
    }

    fn find(
        &mut self,
        values: &Values,
        side: Side,
        is_it: impl Fn(&[Values]) -> bool,
    ) -> Option<usize> {
        let indexes = self.indexes.get(values.first()?)?;
        let groups = &mut self.groups;
        indexes.iter().copied().find(|index| {
            let group = groups.get_mut(*index);
            group.is_some_and(|(known, group)| side(group).is_none() && is_it(known))
        })
    }

    fn join(&mut self, index: usize, values: Values, item: NodeId, side: Side) {
        if let Some((known, group)) = self.groups.get_mut(index) {
            *side(group) = Some(item);
            known.push(values);
        }
    }

    fn begin(&mut self, values: Values, item: NodeId, side: Side) {
        let first = values.first().cloned().unwrap_or_default();
        self.indexes
            .entry(first)
            .or_default()
            .push(self.groups.len());
        let mut group = Group::default();
        *side(&mut group) = Some(item);
        self.groups.push((vec![values], group));
    }
}

/// Whether two items differ only in keys that are missing in one of them.
fn is_like(one: &[String], other: &[String]) -> bool {
    let mut pairs = one.iter().zip(other);
    pairs.all(|(one, other)| one == other || one.is_empty() || other.is_empty())
}

/// The items with the values of their keys; `None` if two have the same.
fn identified(list: NodeRef<'_>, keys: &[String]) -> Option<Vec<(Values, NodeId)>> {
    let mut seen = HashSet::new();
    let mut items = Vec::new();
    for item in list.items() {
        let values = match keys {
            [] => vec![item.as_text()?.to_owned()],
            keys if item.is_mapping() => {
                let value = |key: &String| match item.get(key) {
                    Some(value) if value.is_scalar() => value.as_text().unwrap_or_default(),
                    _ => "",
                };
                keys.iter().map(|key| value(key).to_owned()).collect()
            }
            _ => return None,
        };
        let has_first = keys.is_empty() || values.first().is_some_and(|value| !value.is_empty());
        if !has_first || !seen.insert(values.clone()) {
            return None;
        }
        items.push((values, item.id()));
    }
    Some(items)
}

/// Whether all items of all lists have a field `name` to merge them by.
pub(super) fn have_names(lists: [Option<NodeRef<'_>>; 3]) -> bool {
    let is_named = |item: NodeRef<'_>| {
        let name = item.get("name").and_then(NodeRef::as_text);
        item.is_mapping() && name.is_some_and(|name| !name.is_empty())
    };
    let lists = || lists.into_iter().flatten();
    lists().any(|list| !list.is_empty()) && lists().all(|list| list.items().all(is_named))
}
