//! kyaml's formatter: fields in an order that people expect, a few lists sorted, and quotes where a type asks for them.
//!
//! Comments and all other styles stay as they are. A resource without a type is left alone, and so is one whose
//! annotation asks for that. Depth costs no call frames.

mod order;
#[cfg(test)]
mod tests;
mod types;

pub(crate) use types::Types;

use kiln_yaml::{Document, EditError, NodeId, NodeRef, Style, TypeId};
use order::{compare_fields, has_sorted_lists, leads_to_sorted_list, sort_field};
use types::Scalar;

use super::config::Generation;
use super::fields::{SetFieldError, check_path};
use crate::budget::is_stopped;

const STRATEGY: &str = "config.kubernetes.io/formatting";

/// Why a resource cannot be formatted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FormatError {
    #[error("formatting annotation has illegal value {0}")]
    Strategy(String),
    #[error(transparent)]
    Edit(#[from] EditError),
    #[error(transparent)]
    Path(#[from] SetFieldError),
}

/// Formats a resource, and says whether that changed anything. With the types of a generation, quotes follow them.
pub(crate) fn format(
    document: &mut Document,
    generation: Option<Generation>,
) -> Result<bool, FormatError> {
    if generation == Some(Generation::First) {
        check_path(document, &["metadata", "annotations"])?;
    }
    let root = document.root();
    let strategy = root.lookup(&["metadata", "annotations", STRATEGY])?;
    match strategy.map(NodeRef::value) {
        None | Some("standard") => {}
        Some("none") => return Ok(false),
        Some(other) => return Err(FormatError::Strategy(other.to_owned())),
    }
    let text = |key: &str| root.get(key).map(NodeRef::value);
    let (Some(kind), Some(api_version)) = (text("kind"), text("apiVersion")) else {
        return Ok(false);
    };
    let styles = generation.map(|generation| (generation, Types::of(generation)));
    let known = styles.and_then(|(_, types)| types.resource(api_version, kind));
    let sorts_lists = has_sorted_lists(api_version, kind);
    let mut open = vec![Place {
        node: root.id(),
        path: sorts_lists.then(String::new),
        known,
    }];
    let mut is_changed = false;
    while let Some(place) = open.pop() {
        if is_stopped() {
            break;
        }
        let node = document.node(place.node);
        if node.is_scalar() {
            if let (Some((generation, types)), Some(known)) = (styles, place.known)
                && let Some(known) = types.scalar(known)
            {
                is_changed |= set_style(document, place.node, known, generation);
            }
        } else if node.is_mapping() {
            is_changed |= sort_fields(document, place.node);
            let entries = document.node(place.node).entries();
            open.extend(entries.flat_map(|(key, value)| place.entry(key, value, styles)));
        } else if node.is_sequence() {
            if let Some(field) = place.path.as_deref().and_then(sort_field) {
                is_changed |= sort_items(document, place.node, field);
            }
            let items = document.node(place.node).items();
            open.extend(items.map(|item| place.item(item, styles)));
        }
    }
    Ok(is_changed)
}

/// A node on the way, and what is known about it.
struct Place {
    node: NodeId,
    /// The way to it, if that matters: `.spec.template`.
    path: Option<String>,
    known: Option<TypeId>,
}

type Styles = Option<(Generation, Types)>;

impl Place {
    /// A key, which may have fields itself, and its value.
    fn entry(&self, key: NodeRef<'_>, value: NodeRef<'_>, styles: Styles) -> [Place; 2] {
        let name = key.value();
        let path = self.path.as_ref().map(|path| format!("{path}.{name}"));
        // Ways that lead to no sorted list are forgotten, so that none gets long.
        let path = path.filter(|path| leads_to_sorted_list(path));
        let of = |(of, (_, types)): (TypeId, (Generation, Types))| types.field(of, name);
        [
            Place {
                node: key.id(),
                path: self.path.clone(),
                known: None,
            },
            Place {
                node: value.id(),
                path,
                known: self.known.zip(styles).and_then(of),
            },
        ]
    }

    fn item(&self, item: NodeRef<'_>, styles: Styles) -> Place {
        let of = |(of, (_, types)): (TypeId, (Generation, Types))| types.item(of);
        Place {
            node: item.id(),
            path: self.path.clone(),
            known: self.known.zip(styles).and_then(of),
        }
    }
}

fn sort_fields(document: &mut Document, mapping: NodeId) -> bool {
    let mut entries: Vec<_> = document.node(mapping).entries().collect();
    let compare = |one: NodeRef<'_>, other: NodeRef<'_>| compare_fields(one.value(), other.value());
    if entries.is_sorted_by(|(one, _), (other, _)| compare(*one, *other).is_le()) {
        return false;
    }
    entries.sort_by(|(one, _), (other, _)| compare(*one, *other));
    let children = entries.iter();
    let children: Vec<NodeId> = children
        .flat_map(|(key, value)| [key.id(), value.id()])
        .collect();
    document.set_children(mapping, &children);
    true
}

/// Sorts a list by a field of its items, or by themselves.
fn sort_items(document: &mut Document, list: NodeId, field: &str) -> bool {
    let mut items: Vec<_> = document.node(list).items().collect();
    if items.is_sorted_by_key(|item| sort_key(*item, field)) {
        return false;
    }
    items.sort_by_key(|item| sort_key(*item, field));
    let children: Vec<NodeId> = items.iter().map(|item| item.id()).collect();
    document.set_children(list, &children);
    true
}

/// What an item is sorted by. Of a field given twice the last counts, here, and lists are taken for fields and values.
fn sort_key<'a>(item: NodeRef<'a>, field: &str) -> &'a str {
    if field.is_empty() {
        return item.value();
    }
    let mut found = "";
    let mut children = item.children();
    while let (Some(key), Some(value)) = (children.next(), children.next()) {
        if key.value() == field {
            found = value.value();
        }
    }
    found
}

/// Puts a scalar that older readers may take for another type in quotes or out of them, as its type wants it.
fn set_style(
    document: &mut Document,
    scalar: NodeId,
    known: Scalar,
    generation: Generation,
) -> bool {
    let node = document.node(scalar);
    if !kiln_yaml::is_yaml_1_1_non_string(node.value()) {
        return false;
    }
    let (old_style, old_tag) = (node.style(), node.tag());
    let is_quoted =
        old_style.contains(Style::DOUBLE_QUOTED) || old_style.contains(Style::SINGLE_QUOTED);
    let (style, tag) = match known {
        // Older kyaml makes texts and numbers of nulls.
        _ if old_tag == "!!null" && generation != Generation::First => (Style::NONE, old_tag),
        Scalar::String if !is_quoted => (Style::DOUBLE_QUOTED, "!!str"),
        Scalar::String => (old_style, "!!str"),
        Scalar::Other(tag) if is_quoted => (Style::NONE, tag),
        Scalar::Other(tag) => (old_style, tag),
    };
    if (style, tag) == (old_style, old_tag) {
        return false;
    }
    let tag = tag.to_owned();
    document.set_style(scalar, style);
    document.set_tag(scalar, &tag);
    true
}
