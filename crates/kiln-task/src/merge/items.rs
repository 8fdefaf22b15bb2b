//! Which items of a list on three sides are the same one: by the values of the list's keys.
//!
//! An item that lacks a further key, as a port without its protocol, is the same as one that has it, if there is no better
//! match. A list in which items cannot be told apart has no such pairing, and is merged as a whole.

use std::collections::{HashMap, HashSet};

use kiln_yaml::{NodeId, NodeRef};

/// One item as the three sides have it.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) local: Option<NodeId>,
    pub(super) origin: Option<NodeId>,
    pub(super) updated: Option<NodeId>,
}

type Values = Vec<String>;

/// Where a side has its item in a group.
type Side = fn(&mut Group) -> &mut Option<NodeId>;

/// The items of a list that has no key names are told apart by their texts.
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
        // Those that are the same in every key come first, lest others take their places.
        let mut others = Vec::new();
        for (values, item) in items {
            match groups.same(&values, side) {
                Some(place) => groups.join(place, values, item, side),
                None => others.push((values, item)),
            }
        }
        for (values, item) in others {
            match groups.like(&values, side) {
                Some(place) => groups.join(place, values, item, side),
                None => groups.begin(values, item, side),
            }
        }
    }
    Some(groups.groups.into_iter().map(|(_, group)| group).collect())
}

#[derive(Default)]
struct Groups {
    groups: Vec<(Vec<Values>, Group)>,
    /// By the value of the first key.
    places: HashMap<String, Vec<usize>>,
}

impl Groups {
    /// The group with the very same keys that a side has no item in yet.
    fn same(&mut self, values: &Values, side: Side) -> Option<usize> {
        self.find(values, side, |known| known.contains(values))
    }

    /// The group whose keys differ only where some lack them.
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
        let places = self.places.get(values.first()?)?;
        let groups = &mut self.groups;
        places.iter().copied().find(|place| {
            let group = groups.get_mut(*place);
            group.is_some_and(|(known, group)| side(group).is_none() && is_it(known))
        })
    }

    fn join(&mut self, place: usize, values: Values, item: NodeId, side: Side) {
        if let Some((known, group)) = self.groups.get_mut(place) {
            *side(group) = Some(item);
            known.push(values);
        }
    }

    fn begin(&mut self, values: Values, item: NodeId, side: Side) {
        let first = values.first().cloned().unwrap_or_default();
        self.places
            .entry(first)
            .or_default()
            .push(self.groups.len());
        let mut group = Group::default();
        *side(&mut group) = Some(item);
        self.groups.push((vec![values], group));
    }
}

/// Whether two items differ only in keys that one of them lacks.
fn is_like(one: &[String], other: &[String]) -> bool {
    let mut pairs = one.iter().zip(other);
    pairs.all(|(one, other)| one == other || one.is_empty() || other.is_empty())
}

/// The items with the values of their keys; nothing if some cannot be told apart.
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

/// Whether each list that has items has a name for each of them, so that they can be merged by it.
pub(super) fn have_names(lists: [Option<NodeRef<'_>>; 3]) -> bool {
    let is_named = |item: NodeRef<'_>| {
        let name = item.get("name").and_then(NodeRef::as_text);
        item.is_mapping() && name.is_some_and(|name| !name.is_empty())
    };
    let lists = || lists.into_iter().flatten();
    lists().any(|list| !list.is_empty()) && lists().all(|list| list.items().all(is_named))
}
