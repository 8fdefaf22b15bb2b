//! The three-way merge of Kptfiles.
//!
//! Labels, annotations, info, pipeline, inventory and status are merged. The local name stays, and the upstream is merged only
//! for subpackages. Functions are identified by their names, else by image or command. Unlike the original this works on the
//! tree, so comments and order are kept and unknown fields are not an error.

use std::collections::HashSet;

use kiln_krm::EditableText;
use kiln_yaml::{Document, NodeId, NodeRef, parse_first};

use super::aliases::resolve_aliases;
use super::conflict::Conflict;
use super::marks::strip_marks;
use super::resources::FileSides;
use super::schema::ListTypes;
use super::tree::{FieldConflict, Lists, MergeStyle, Trees, merge_trees_in_style};

/// How `upstream` and `upstreamLock` are merged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum UpstreamFields {
    Keep,
    /// Copy them from the new upstream, if it has them.
    Copy,
}

const SYNTHETIC: &str = "_kpt-merge_";

/// Merges Kptfiles. Returns `None` if one of them cannot be parsed.
pub(crate) fn merge_kptfile(
    path: &str,
    sides: FileSides<'_>,
    upstream: UpstreamFields,
    style: MergeStyle,
    conflicts: &mut Vec<Conflict>,
) -> Option<Vec<u8>> {
    let (Some(local), Some(updated)) = (sides.local, sides.updated) else {
        return Some(sides.local.or(sides.updated)?.to_vec());
    };
    let mut text = EditableText::read_kptfile(local)?;
    let new = read(updated)?;
    let mut updated = new.clone();
    let mut origin = match sides.origin {
        Some(origin) => read(origin)?,
        None => Document::new_mapping(),
    };
    for doc in [&mut origin, &mut updated] {
        strip_marks(doc);
        remove_unmerged(doc);
    }
    if !resolve_aliases(text.document_mut()) {
        return None;
    }
    let docs = [text.document_mut(), &mut origin, &mut updated];
    let is_named = docs.iter().all(|doc| have_own_keys(doc));
    if is_named {
        for doc in docs {
            add_names(doc);
        }
    }
    let found = merge_trees_in_style(
        Trees {
            local: text.document_mut(),
            origin: Some(&origin),
            updated: &updated,
        },
        &mut ListTypes::default(),
        Lists::Inferred,
        style,
    );
    remove_names(text.document_mut());
    if upstream == UpstreamFields::Copy {
        for key in ["upstream", "upstreamLock"] {
            copy_field(text.document_mut(), new.root(), key);
        }
    }
    let is_reported = |conflict: &FieldConflict| !conflict.field.starts_with("status");
    for mut conflict in found.into_iter().filter(is_reported) {
        conflict.field = conflict.field.replace(SYNTHETIC, "");
        conflicts.push(conflict.at(path, None));
    }
    Some(text.changed().unwrap_or_else(|| local.to_vec()))
}

/// Whether two packages have different upstreams in their Kptfiles. A package without a Kptfile counts as the same.
pub(crate) fn has_other_upstream(local: Option<&[u8]>, origin: Option<&[u8]>) -> bool {
    let git = |kptfile: Option<&[u8]>| {
        let doc = kptfile.and_then(read)?;
        let git = doc.root().get_path(&["upstream", "git"])?;
        Some(Document::from_node(git))
    };
    match (git(origin), git(local)) {
        (None, _) => false,
        (Some(_), None) => true,
        (Some(origin), Some(local)) => !origin.root().value_eq(local.root()),
    }
}

/// Whether a Kptfile names an upstream.
pub(super) fn is_remote(kptfile: Option<&[u8]>) -> bool {
    let doc = kptfile.and_then(read);
    doc.is_some_and(|doc| doc.root().get("upstream").is_some_and(NodeRef::is_mapping))
}

/// Whether two Kptfiles are equal except for upstream, name and render status.
pub(super) fn is_same_kptfile(local: &[u8], origin: &[u8]) -> bool {
    match (own_fields(local), own_fields(origin)) {
        (Some(local), Some(origin)) => local.root().value_eq(origin.root()),
        _ => local == origin,
    }
}

/// Whether a Kptfile has nothing but upstream, name and render status, as one that was written for an upstream without a Kptfile.
pub(super) fn is_bare_kptfile(kptfile: &[u8]) -> bool {
    own_fields(kptfile).is_some_and(|fields| fields.root().is_empty())
}

/// A Kptfile without upstream, name and render status.
fn own_fields(kptfile: &[u8]) -> Option<Document> {
    let mut doc = read(kptfile)?;
    strip_marks(&mut doc);
    remove_unmerged(&mut doc);
    forget_render(&mut doc);
    Some(doc)
}

/// The Kptfile without its render status; `None` if it has none.
pub(crate) fn without_render(kptfile: &[u8]) -> Option<Vec<u8>> {
    let mut text = EditableText::read_kptfile(kptfile)?;
    forget_render(text.document_mut());
    text.changed()
}

fn read(kptfile: &[u8]) -> Option<Document> {
    let mut doc = parse_first(kptfile).ok().flatten()?;
    (doc.root().is_mapping() && resolve_aliases(&mut doc)).then_some(doc)
}

/// Removes the fields that are never merged.
fn remove_unmerged(doc: &mut Document) {
    let root = doc.root().id();
    for key in ["apiVersion", "kind", "upstream", "upstreamLock"] {
        remove_field(doc, root, key);
    }
    if let Some(metadata) = doc.root().get("metadata").map(NodeRef::id) {
        for key in ["name", "namespace"] {
            remove_field(doc, metadata, key);
        }
        remove_if_empty(doc, root, "metadata");
    }
}

fn forget_render(doc: &mut Document) {
    let root = doc.root().id();
    let Some(status) = doc.root().get("status").map(NodeRef::id) else {
        return;
    };
    remove_field(doc, status, "renderStatus");
    if let Some(conditions) = doc.node(status).get("conditions").map(NodeRef::id) {
        let is_rendered = |item: &NodeId| {
            let kind = doc.node(*item).get("type").and_then(NodeRef::as_text);
            kind == Some(kiln_krm::kptfile::Condition::RENDERED)
        };
        let items = doc.child_ids(conditions);
        let kept: Vec<NodeId> = items.iter().copied().filter(|i| !is_rendered(i)).collect();
        if kept.len() != items.len() {
            doc.set_children(conditions, &kept);
        }
        remove_if_empty(doc, status, "conditions");
    }
    remove_if_empty(doc, root, "status");
}

fn remove_field(doc: &mut Document, mapping: NodeId, key: &str) {
    let entry = doc.node(mapping).entry(key);
    if let Some(removed) = entry.map(|(key, value)| [key.id(), value.id()]) {
        let mut children = doc.child_ids(mapping);
        children.retain(|child| !removed.contains(child));
        doc.set_children(mapping, &children);
    }
}

fn remove_if_empty(doc: &mut Document, mapping: NodeId, key: &str) {
    if doc.node(mapping).get(key).is_some_and(NodeRef::is_empty) {
        remove_field(doc, mapping, key);
    }
}

fn copy_field(doc: &mut Document, from: NodeRef<'_>, key: &str) {
    let Some((new_key, new_value)) = from.entry(key) else {
        return;
    };
    let root = doc.root().id();
    match doc.root().get(key) {
        Some(old) if old.value_eq(new_value) => {}
        Some(old) => {
            let old = old.id();
            let new = doc.import(new_value);
            doc.replace_child(root, old, new);
        }
        None => {
            let (key, value) = (doc.import(new_key), doc.import(new_value));
            doc.push_entry(root, key, value);
        }
    }
}

// ---- the names of functions ----------------------------------------------------------------------------

fn function_lists(doc: &Document) -> Vec<NodeId> {
    ["mutators", "validators"]
        .into_iter()
        .filter_map(|list| doc.root().get_path(&["pipeline", list]))
        .map(NodeRef::id)
        .collect()
}

/// Whether the functions of each list are distinguishable, by name or else by image or command.
fn have_own_keys(doc: &Document) -> bool {
    function_lists(doc).into_iter().all(|list| {
        let mut seen = HashSet::new();
        let mut items = doc.node(list).items();
        items.all(|function| function_key(function).is_some_and(|key| seen.insert(key)))
    })
}

fn function_key(function: NodeRef<'_>) -> Option<String> {
    let text = |key| {
        let text = function.get(key).and_then(NodeRef::as_text);
        text.filter(|text| !text.is_empty())
    };
    if let Some(name) = text("name") {
        return Some(name.to_owned());
    }
    let what = text("exec").or_else(|| text("image").map(without_tag))?;
    Some(format!("{SYNTHETIC}{what}"))
}

/// An image without its tag and digest. The port of a registry is not a tag.
fn without_tag(image: &str) -> &str {
    let image = image.split('@').next().unwrap_or_default();
    match (image.rfind(':'), image.rfind('/')) {
        (Some(colon), slash) if slash.is_none_or(|slash| slash < colon) => {
            image.get(..colon).unwrap_or(image)
        }
        _ => image,
    }
}

fn add_names(doc: &mut Document) {
    for list in function_lists(doc) {
        for function in doc.child_ids(list) {
            let node = doc.node(function);
            let is_named = node.get("name").is_some();
            if let Some(name) = function_key(node).filter(|_| !is_named) {
                let (key, value) = (doc.new_string("name"), doc.new_string(&name));
                doc.push_entry(function, key, value);
            }
        }
    }
}

fn remove_names(doc: &mut Document) {
    for list in function_lists(doc) {
        for function in doc.child_ids(list) {
            let name = doc.node(function).get("name").and_then(NodeRef::as_text);
            if name.is_some_and(|name| name.starts_with(SYNTHETIC)) {
                remove_field(doc, function, "name");
            }
        }
    }
}
