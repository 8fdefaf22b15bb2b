//! Pairing the items of two keyed lists.
//!
//! kyaml merges the changed list into the original one key by key, and drops and replaces items of the original while
//! it does so. Only two effects of that reach the comments: which items are still there to be matched, and which item
//! makes it fail. Both are worked out here without touching the lists, in near linear time.

use std::collections::{HashMap, HashSet};

use crate::node::{Kind, NodeId};
use crate::noderef::NodeRef;

/// The pairs to walk, in order, and the item of the original to fail with after them.
#[derive(Default)]
pub(super) struct KeyedItems {
    pub(super) pairs: Vec<(Option<NodeId>, Option<NodeId>)>,
    pub(super) unkeyed: Option<(Kind, NodeId)>,
}

/// Pairs the items of two lists by the values of `keys`, or by their text if there are no keys.
pub(super) fn pair_by_key(from: NodeRef<'_>, to: Option<NodeRef<'_>>, keys: &[&str]) -> KeyedItems {
    let from: Vec<_> = from.items().collect();
    let to: Vec<_> = to.into_iter().flat_map(NodeRef::items).collect();
    if keys.is_empty() {
        pair_texts(&from, &to)
    } else {
        pair_fields(&from, &to, keys)
    }
}

// ---- lists of scalars ----------------------------------------------------------------------------------

fn pair_texts(from: &[NodeRef<'_>], to: &[NodeRef<'_>]) -> KeyedItems {
    let mut out = KeyedItems::default();
    let (in_from, in_to) = (first_by_text(from), first_by_text(to));
    // Items with fields have no text, so at most the first of them is walked, and may be empty after that.
    let first_blank = in_from.get("").map(|item| item.id());
    let unkeyed = |walked_blank: bool| {
        let bad = from.iter().find(|item| {
            let emptied = walked_blank && first_blank == Some(item.id()) && is_emptied(**item);
            !is_void(**item) && !item.is_scalar() && !emptied
        });
        bad.map(|item| (Kind::Scalar, item.id()))
    };
    let mut seen = HashSet::new();
    // What was matched so far: whether anything, and whether something that is not a scalar.
    let (mut matched, mut matched_unkeyed) = (false, false);
    for item in from.iter().chain(to) {
        if !seen.insert(item.value()) {
            continue;
        }
        let pair = in_from.get(item.value()).copied();
        let other = in_to.get(item.value()).copied();
        out.pairs
            .push((pair.map(NodeRef::id), other.map(NodeRef::id)));
        let kept =
            pair.filter(|item| !is_void(*item) && !is_emptied(*item) && item.kind() != Kind::Alias);
        if kept.is_none() || matched_unkeyed {
            out.unkeyed = unkeyed(seen.contains(""));
        }
        if out.unkeyed.is_some() {
            return out;
        }
        if let Some(kept) = kept {
            matched = true;
            matched_unkeyed |= !kept.is_scalar();
        }
    }
    if matched {
        out.unkeyed = unkeyed(seen.contains(""));
    }
    out
}

fn first_by_text<'a>(items: &[NodeRef<'a>]) -> HashMap<&'a str, NodeRef<'a>> {
    let mut out = HashMap::with_capacity(items.len());
    for item in items {
        out.entry(item.value()).or_insert(*item);
    }
    out
}

/// Whether kyaml treats an item as missing.
fn is_void(item: NodeRef<'_>) -> bool {
    item.is_tagged_null() || (item.is_mapping() && item.is_empty())
}

/// Whether a mapping is empty once it was walked, which takes nulls and aliases out of it.
fn is_emptied(item: NodeRef<'_>) -> bool {
    let goes = |value: NodeRef<'_>| value.is_tagged_null() || value.kind() == Kind::Alias;
    item.is_mapping() && item.entries().all(|(_, value)| goes(value))
}

// ---- lists of mappings ---------------------------------------------------------------------------------

/// The values of an item's keys; empty where it has none.
type Values<'a> = Vec<&'a str>;

fn pair_fields(from: &[NodeRef<'_>], to: &[NodeRef<'_>], keys: &[&str]) -> KeyedItems {
    let mut out = KeyedItems::default();
    let unkeyed = from
        .iter()
        .find(|item| !item.is_tagged_null() && !item.is_mapping())
        .map(|item| (Kind::Mapping, item.id()));
    let mut seen = HashSet::new();
    let mut all: Vec<Values<'_>> = Vec::new();
    for item in from.iter().chain(to) {
        let values = key_values(*item, keys);
        if seen.insert(values.clone()) {
            all.push(values);
        }
    }
    if keys.len() > 1 {
        complete(&mut all);
    }
    // Keys that no item has a value for do not count, unless that is true of all.
    let mut valid: Vec<usize> = (0..keys.len())
        .filter(|at| all.iter().any(|values| !values[*at].is_empty()))
        .collect();
    if valid.is_empty() {
        valid = (0..keys.len()).collect();
    }
    let mut in_from = Index::new(from, keys);
    let mut in_to = Index::new(to, keys);
    let mut matched = Vec::new();
    for values in &all {
        let mut wanted: Vec<usize> = valid
            .iter()
            .copied()
            .filter(|at| !values[*at].is_empty())
            .collect();
        let blank = wanted.is_empty();
        if blank {
            wanted.clone_from(&valid);
        }
        let pair = in_from.first(&wanted, values);
        let other = in_to.first(&wanted, values);
        out.pairs
            .push((pair.map(NodeRef::id), other.map(NodeRef::id)));
        match pair.filter(|item| !is_emptied(*item)) {
            Some(item) => matched.push((item, values)),
            None => {
                if valid.first().is_some_and(|at| values[*at].is_empty()) {
                    out.unkeyed = unkeyed;
                }
                if out.unkeyed.is_some() {
                    return out;
                }
                if blank {
                    // Deleting "the item without key" deletes all that have one.
                    in_from.remove_all_with(&valid);
                }
            }
        }
    }
    // Putting the matched items back stumbles over one without fields when the first key is there but blank; an item
    // with none of the keys empties the list instead. By then nulls are gone from the items that were walked.
    for (item, values) in matched {
        let blank_first = valid.iter().find_map(|at| match item.field(keys[*at]) {
            _ if !values[*at].is_empty() => Some(false),
            Some((_, value)) if !value.is_tagged_null() => Some(value.value().is_empty()),
            _ => None,
        });
        match blank_first {
            Some(true) => out.unkeyed = unkeyed,
            Some(false) => {}
            None => break,
        }
    }
    out
}

fn key_values<'a>(item: NodeRef<'a>, keys: &[&str]) -> Values<'a> {
    keys.iter()
        .map(|key| match item.field(key) {
            Some((_, value)) if !value.is_tagged_null() => value.value(),
            _ => "",
        })
        .collect()
}

/// Treats items as the same if one lacks a key field of the other, such as a port without a protocol.
fn complete(all: &mut [Values<'_>]) {
    let has_blank = |values: &Values<'_>| values.iter().any(|value| value.is_empty());
    if !all.iter().any(has_blank) {
        return;
    }
    if all.iter().any(|values| values[0].is_empty()) {
        // Such a list is broken; going on costs time that grows with the square of its length.
        if all.len() <= LONGEST_BROKEN_LIST {
            let places: Vec<usize> = (0..all.len()).collect();
            complete_among(all, &places);
        }
        return;
    }
    // Different first values never match, so each group can be done alone.
    let mut groups: HashMap<&str, Vec<usize>> = HashMap::new();
    for (place, values) in all.iter().enumerate() {
        groups.entry(values[0]).or_default().push(place);
    }
    for places in groups.values().filter(|places| places.len() > 1) {
        complete_among(all, places);
    }
}

const LONGEST_BROKEN_LIST: usize = 4096;

fn complete_among(all: &mut [Values<'_>], places: &[usize]) {
    let has_blank = |values: &Values<'_>| values.iter().any(|value| value.is_empty());
    let mut blanks: Vec<usize> = places
        .iter()
        .copied()
        .filter(|place| has_blank(&all[*place]))
        .collect();
    for &one in places {
        // The values as they are now count for all comparisons, even if one of them changes them.
        let values = all[one].clone();
        let others = if has_blank(&values) { places } else { &blanks };
        for other in others.iter().copied() {
            if let Some(merged) = merged(&values, &all[other]) {
                all[one].clone_from(&merged);
                all[other] = merged;
            }
        }
        blanks.retain(|place| has_blank(&all[*place]));
    }
}

/// The values of both, if they agree somewhere and differ only where one is blank.
fn merged<'a>(one: &Values<'a>, other: &Values<'a>) -> Option<Values<'a>> {
    let mut agree = false;
    let mut out = Vec::with_capacity(one.len());
    for (a, b) in one.iter().zip(other) {
        agree |= a == b;
        if a != b && !a.is_empty() && !b.is_empty() {
            return None;
        }
        out.push(if a.is_empty() { *b } else { *a });
    }
    agree.then_some(out)
}

/// A table by a set of keys (as places in the list of keys): the values of those keys to the first item that has them.
type ItemsByKey<'a> = HashMap<Values<'a>, NodeRef<'a>>;

/// The items of a list by the values of some of their keys.
struct Index<'a, 'k> {
    items: Vec<NodeRef<'a>>,
    keys: &'k [&'k str],
    tables: HashMap<Vec<usize>, ItemsByKey<'a>>,
}

impl<'a, 'k> Index<'a, 'k> {
    fn new(items: &[NodeRef<'a>], keys: &'k [&'k str]) -> Index<'a, 'k> {
        Index {
            items: items.to_vec(),
            keys,
            tables: HashMap::new(),
        }
    }

    /// The first item that has these values in all wanted keys.
    fn first(&mut self, wanted: &[usize], values: &Values<'_>) -> Option<NodeRef<'a>> {
        if !self.tables.contains_key(wanted) {
            let mut table = ItemsByKey::new();
            for item in &self.items {
                if let Some(values) = self.raw_values(*item, wanted) {
                    table.entry(values).or_insert(*item);
                }
            }
            self.tables.insert(wanted.to_vec(), table);
        }
        let values: Values<'_> = wanted.iter().map(|at| values[*at]).collect();
        self.tables.get(wanted)?.get(&values).copied()
    }

    fn remove_all_with(&mut self, wanted: &[usize]) {
        let mut items = std::mem::take(&mut self.items);
        items.retain(|item| self.raw_values(*item, wanted).is_none());
        self.items = items;
        self.tables.clear();
    }

    /// The texts of an item's keys, nulls included; nothing if one is missing.
    fn raw_values(&self, item: NodeRef<'a>, wanted: &[usize]) -> Option<Values<'a>> {
        wanted
            .iter()
            .map(|at| item.field(self.keys[*at]).map(|(_, value)| value.value()))
            .collect()
    }
}
