//! Matching the items of a changed list with those of the original list.
//!
//! kyaml matches by index, so that an item inserted first gets the comments of the old first item. Here items are
//! matched by value, then by name, and only then by index.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::node::{Kind, KnownTag, NodeId, Tag};
use crate::noderef::NodeRef;
use crate::resolve::{float_value, int_value};

/// Fields that name an item of a list, the most specific first.
const NAMES: [&str; 9] = [
    "name",
    "key",
    "id",
    "mountPath",
    "containerPort",
    "port",
    "path",
    "host",
    "ip",
];

/// Of a large item only as many nodes are compared, so that lists in lists need linear time.
const COMPARED_NODES: usize = 64;

/// Pairs the items of two lists. No item is in two pairs; new and removed items are in none.
pub fn pair_items<'f>(from: NodeRef<'f>, to: NodeRef<'_>) -> Vec<(NodeRef<'f>, NodeId)> {
    let before: Vec<NodeRef<'f>> = from.items().collect();
    let after: Vec<NodeRef<'_>> = to.items().collect();
    let is_same_length = before.len() == after.len();
    let mut in_place = before.iter().zip(&after);
    if is_same_length && in_place.all(|(from, to)| identity(*from) == identity(*to)) {
        let after = after.iter().map(|item| item.id());
        return before.into_iter().zip(after).collect();
    }
    let mut pairing = Pairing {
        is_taken: vec![false; before.len()],
        found: vec![None; after.len()],
    };
    pairing.pair_by(&before, &after, |item| Some(fingerprint(item)));
    pairing.pair_by(&before, &after, |item| {
        identity(item).filter(|_| item.is_mapping())
    });
    pairing.pair_by_place(&before, &after);
    let found = pairing.found.into_iter().zip(&after);
    found
        .filter_map(|(place, item)| Some((*before.get(place?)?, item.id())))
        .collect()
}

struct Pairing {
    /// Whether an item of the original is in a pair.
    is_taken: Vec<bool>,
    /// The index in the original of each item.
    found: Vec<Option<usize>>,
}

impl Pairing {
    /// Pairs unpaired items with the same key, the first with the first.
    fn pair_by<'a, M: Eq + Hash>(
        &mut self,
        before: &[NodeRef<'a>],
        after: &[NodeRef<'a>],
        mark: impl Fn(NodeRef<'a>) -> Option<M>,
    ) {
        let mut places: HashMap<M, VecDeque<usize>> = HashMap::new();
        for (place, item) in before.iter().enumerate() {
            if self.is_taken.get(place) == Some(&false)
                && let Some(mark) = mark(*item)
            {
                places.entry(mark).or_default().push_back(place);
            }
        }
        for (item, found) in after.iter().zip(&mut self.found) {
            if found.is_some() {
                continue;
            }
            let same = mark(*item).and_then(|mark| places.get_mut(&mark));
            *found = same.and_then(VecDeque::pop_front);
            if let Some(taken) = found.and_then(|place| self.is_taken.get_mut(place)) {
                *taken = true;
            }
        }
    }

    /// Pairs the remaining collections: by index if the list is as long as before, otherwise those without a name in
    /// their order.
    fn pair_by_place(&mut self, before: &[NodeRef<'_>], after: &[NodeRef<'_>]) {
        let is_same_length = before.len() == after.len();
        let left =
            |item: NodeRef<'_>| !item.is_scalar() && (is_same_length || identity(item).is_none());
        let mut unpaired = Vec::new();
        for (place, item) in before.iter().enumerate() {
            if self.is_taken.get(place) == Some(&false) && left(*item) {
                unpaired.push((place, item.kind()));
            }
        }
        let mut unpaired = unpaired.into_iter().peekable();
        for (place, (item, found)) in after.iter().zip(&mut self.found).enumerate() {
            if found.is_some() || !left(*item) {
                continue;
            }
            if is_same_length {
                while unpaired.next_if(|(other, _)| *other < place).is_some() {}
            }
            let is_like = |(other, kind): &(usize, Kind)| {
                *kind == item.kind() && (!is_same_length || *other == place)
            };
            *found = unpaired.next_if(is_like).map(|(other, _)| other);
        }
    }
}

/// The name of an item: its text, or the first of its fields that names it.
fn identity(item: NodeRef<'_>) -> Option<(&'static str, &str)> {
    match item.kind() {
        Kind::Scalar | Kind::Alias => Some(("", item.value())),
        Kind::Mapping => NAMES.into_iter().find_map(|name| {
            let value = item.get(name).filter(|value| value.is_scalar())?;
            Some((name, value.value()))
        }),
        Kind::Sequence => None,
    }
}

/// A hash that is equal for items with equal values, whatever the order of their fields and the spelling of numbers and
/// nulls: functions that decode and encode a list write `~` as `null` and `1.50` as `1.5`.
fn fingerprint(item: NodeRef<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut pending = vec![item];
    for _ in 0..COMPARED_NODES {
        let Some(node) = pending.pop() else { break };
        (node.kind() as u8).hash(&mut hasher);
        hash_text(node, &mut hasher);
        node.children().count().hash(&mut hasher);
        let mut entries: Vec<_> = node.entries().collect();
        entries.sort_by_key(|(key, _)| key.value());
        pending.extend(entries.into_iter().flat_map(|(key, value)| [key, value]));
        pending.extend(node.items());
    }
    hasher.finish()
}

fn hash_text(node: NodeRef<'_>, hasher: &mut DefaultHasher) {
    let text = node.value();
    let number = match (node.kind(), node.resolved_tag()) {
        (Kind::Scalar, Tag::Known(KnownTag::Null)) => return "null".hash(hasher),
        (Kind::Scalar, Tag::Known(KnownTag::Int)) => int_value(text).map(|value| value as f64),
        (Kind::Scalar, Tag::Known(KnownTag::Float)) => float_value(text),
        _ => None,
    };
    match number {
        // Both zeros are equal.
        Some(number) => (number + 0.0).to_bits().hash(hasher),
        None => text.hash(hasher),
    }
}

#[cfg(test)]
mod tests;
