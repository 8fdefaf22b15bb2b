//! The changes that package revisions make to a Kptfile: name, upstream, labels, annotations, gates and conditions.
//!
//! Like the edits of [`super::edit`], these keep what people wrote, and leave alone what is already as wanted. Unlike those
//! they accept unknown fields, because a package may be older or newer than kiln.

use kiln_yaml::{Document, Kind, NodeId};

use super::{Condition, Kptfile, Locator, ReadinessGate, Status, Upstream, tree};
use crate::record::{Reader, UnknownKeys, Value, new_text, read_node};

/// Labels and annotations, which are changed in the same way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MetadataMap {
    Labels,
    Annotations,
}

/// How entries are treated that are not in the new list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Others {
    Keep,
    Remove,
}

/// Sets the package's name.
pub fn set_name(doc: &mut Document, name: &str) {
    if present(doc).metadata.name == name {
        return;
    }
    let metadata = tree::collection_at(doc, &["metadata"], Kind::Mapping);
    let name = new_text(doc, name);
    put_after(doc, metadata, "name", Some(name), &[]);
}

/// Sets the upstream of the package; `None` removes it.
pub fn set_upstream(doc: &mut Document, upstream: Option<&Upstream>) {
    if present(doc).upstream.as_ref() == upstream {
        return;
    }
    let value = upstream.map(|upstream| upstream.write(doc));
    let root = tree::collection_at(doc, &[], Kind::Mapping);
    put_after(
        doc,
        root,
        "upstream",
        value,
        &["metadata", "kind", "apiVersion"],
    );
}

/// Sets the upstream lock of the package; `None` removes it.
pub fn set_upstream_lock(doc: &mut Document, lock: Option<&Locator>) {
    if present(doc).upstream_lock.as_ref() == lock {
        return;
    }
    let value = lock.map(|lock| lock.write(doc));
    let root = tree::collection_at(doc, &[], Kind::Mapping);
    let before = ["upstream", "metadata", "kind", "apiVersion"];
    put_after(doc, root, "upstreamLock", value, &before);
}

/// Sets labels or annotations.
pub fn set_metadata(
    doc: &mut Document,
    map: MetadataMap,
    wanted: &[(String, String)],
    others: Others,
) {
    let metadata = present(doc).metadata;
    let (field, present) = match map {
        MetadataMap::Labels => ("labels", metadata.labels),
        MetadataMap::Annotations => ("annotations", metadata.annotations),
    };
    let is_wanted = |key: &str| wanted.iter().any(|(wanted, _)| wanted == key);
    let is_other = |key: &&String| others == Others::Remove && !is_wanted(key);
    let gone: Vec<&String> = present.keys().filter(is_other).collect();
    let is_new = |entry: &&(String, String)| present.get(&entry.0) != Some(&entry.1);
    let new: Vec<&(String, String)> = wanted.iter().filter(is_new).collect();
    if gone.is_empty() && new.is_empty() {
        return;
    }
    let mapping = tree::collection_at(doc, &["metadata", field], Kind::Mapping);
    for key in gone {
        tree::put_entry(doc, mapping, key, None);
    }
    for (key, value) in new {
        let value = new_text(doc, value);
        put_after(doc, mapping, key, Some(value), &[]);
    }
    if doc.node(mapping).is_empty() {
        let metadata = tree::collection_at(doc, &["metadata"], Kind::Mapping);
        tree::put_entry(doc, metadata, field, None);
    }
}

/// Sets the gates; existing ones keep their positions.
pub fn set_readiness_gates(doc: &mut Document, wanted: &[String]) {
    let info = present(doc).info.unwrap_or_default();
    let present: Vec<&String> = info
        .readiness_gates
        .iter()
        .map(|gate| &gate.condition_type)
        .collect();
    let is_same = present.iter().all(|gate| wanted.contains(gate))
        && wanted.iter().all(|gate| present.contains(&gate));
    if is_same {
        return;
    }
    let list = tree::collection_at(doc, &["info", "readinessGates"], Kind::Sequence);
    let is_wanted = |gate: &ReadinessGate| wanted.contains(&gate.condition_type);
    let mut items = items_that(doc, list, is_wanted);
    for condition_type in wanted {
        if !present.contains(&condition_type) {
            let condition_type = condition_type.clone();
            items.push(ReadinessGate { condition_type }.write(doc));
        }
    }
    set_items(doc, "info", "readinessGates", list, &items);
}

/// Sets the conditions, by type; existing ones keep their positions.
pub fn set_conditions(doc: &mut Document, wanted: &[Condition]) {
    let present: Status = present(doc).status.unwrap_or_default();
    let is_there = |condition: &Condition| present.conditions.contains(condition);
    if present.conditions.len() == wanted.len() && wanted.iter().all(is_there) {
        return;
    }
    tree::lift_last_comments(doc, "status");
    let list = tree::collection_at(doc, &["status", "conditions"], Kind::Sequence);
    let is_wanted = |there: &Condition| wanted.iter().any(|wanted| wanted.kind == there.kind);
    let items = items_that(doc, list, is_wanted);
    set_items(doc, "status", "conditions", list, &items);
    if wanted.is_empty() {
        return;
    }
    let list = tree::collection_at(doc, &["status", "conditions"], Kind::Sequence);
    for condition in wanted {
        let is_same = |there: &Condition| there.kind == condition.kind;
        tree::put_item(doc, list, condition, is_same);
    }
}

/// What can be read of the Kptfile.
fn present(doc: &Document) -> Kptfile {
    Reader::what_fits(doc, doc.root().id(), UnknownKeys::Ignore).0
}

fn items_that<R: Value>(doc: &Document, list: NodeId, is_kept: impl Fn(&R) -> bool) -> Vec<NodeId> {
    let items = doc.child_ids(list).into_iter();
    items
        .filter(|item| read_node(doc, *item).is_some_and(|record| is_kept(&record)))
        .collect()
}

fn set_items(doc: &mut Document, parent: &str, key: &str, list: NodeId, items: &[NodeId]) {
    if !items.is_empty() {
        doc.set_children(list, items);
        return;
    }
    let mapping = tree::collection_at(doc, &[parent], Kind::Mapping);
    tree::put_entry(doc, mapping, key, None);
    if doc.node(mapping).is_empty() {
        let root = tree::collection_at(doc, &[], Kind::Mapping);
        tree::put_entry(doc, root, parent, None);
    }
}

/// Sets the value of a key, with the comments that its value had; a new one comes behind the first of the keys that is
/// there, or last.
fn put_after(
    doc: &mut Document,
    mapping: NodeId,
    key: &str,
    value: Option<NodeId>,
    before: &[&str],
) {
    let old = doc.node(mapping).entry(key).map(|(_, value)| value.id());
    if let (Some(old), Some(new)) = (old, value)
        && doc.node(old).is_scalar()
    {
        let comment = doc.node(old).comment(kiln_yaml::Slot::Line).to_owned();
        doc.set_comment(new, kiln_yaml::Slot::Line, &comment);
    }
    tree::put_entry(doc, mapping, key, value);
    let is_new = old.is_none() && value.is_some();
    let place = before.iter().find_map(|other| {
        let (_, value) = doc.node(mapping).entry(other)?;
        let children = doc.child_ids(mapping);
        children.iter().position(|child| *child == value.id())
    });
    if let (true, Some(place)) = (is_new, place) {
        let mut children = doc.child_ids(mapping);
        let pair: Vec<NodeId> = children.split_off(children.len().saturating_sub(2));
        let rest = children.split_off((place + 1).min(children.len()));
        children.extend(pair);
        children.extend(rest);
        doc.set_children(mapping, &children);
    }
}

#[cfg(test)]
mod tests;
