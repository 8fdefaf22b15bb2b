//! kyaml's formatter: it sorts fields and a few lists, and adds quotes where a type requires them.
//!
//! Comments and all other styles are kept. A resource without a type is not formatted, nor is one whose annotation
//! disables it. Depth costs no call frames.

mod order;
#[cfg(test)]
mod tests;
mod types;

pub(crate) use types::Types;

use kiln_yaml::{Document, EditError, NodeId, NodeRef, Style, TypeId};
use order::{compare_fields, has_sorted_lists, leads_to_sorted_list, sort_field};
use types::ScalarType;

use super::config::KyamlRelease;
use super::fields::{SetFieldError, check_path};
use crate::budget::is_stopped;

const STRATEGY: &str = "config.kubernetes.io/formatting";

#[derive(Debug, thiserror::Error)]
pub(crate) enum FormatError {
    #[error("formatting annotation has illegal value {0}")]
    Strategy(String),
    #[error(transparent)]
    Edit(#[from] EditError),
    #[error(transparent)]
    Path(#[from] SetFieldError),
}

/// Formats a resource, and returns whether it changed. With a release, quotes follow its types.
pub(crate) fn format(
    document: &mut Document,
    release: Option<KyamlRelease>,
) -> Result<bool, FormatError> {
    if release == Some(KyamlRelease::V0_10) {
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
    let styles = release.map(|release| (release, Types::of(release)));
    let known = styles.and_then(|(_, types)| types.resource(api_version, kind));
    let sorts_lists = has_sorted_lists(api_version, kind);
    let mut open = vec![FormatNode {
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
            if let (Some((release, types)), Some(known)) = (styles, place.known)
                && let Some(known) = types.scalar(known)
            {
                is_changed |= set_style(document, place.node, known, release);
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

struct FormatNode {
    node: NodeId,
    /// Its path, if a sorted list may follow: `.spec.template`.
    path: Option<String>,
    known: Option<TypeId>,
}

type Styles = Option<(KyamlRelease, Types)>;

impl FormatNode {
    /// A key, which may be a collection itself, and its value.
    fn entry(&self, key: NodeRef<'_>, value: NodeRef<'_>, styles: Styles) -> [FormatNode; 2] {
        let name = key.value();
        let path = self.path.as_ref().map(|path| format!("{path}.{name}"));
        // Paths that lead to no sorted list are dropped, so that none gets long.
        let path = path.filter(|path| leads_to_sorted_list(path));
        let of = |(of, (_, types)): (TypeId, (KyamlRelease, Types))| types.field(of, name);
        [
            FormatNode {
                node: key.id(),
                path: self.path.clone(),
                known: None,
            },
            FormatNode {
                node: value.id(),
                path,
                known: self.known.zip(styles).and_then(of),
            },
        ]
    }

    fn item(&self, item: NodeRef<'_>, styles: Styles) -> FormatNode {
        let of = |(of, (_, types)): (TypeId, (KyamlRelease, Types))| types.item(of);
        FormatNode {
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

/// The sort key of an item. Of duplicate fields the last counts, and sequences are read as fields and values.
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

/// Quotes or unquotes a scalar that YAML 1.1 may read as another type, as its type requires.
fn set_style(
    document: &mut Document,
    scalar: NodeId,
    known: ScalarType,
    release: KyamlRelease,
) -> bool {
    let node = document.node(scalar);
    if !kiln_yaml::is_yaml_1_1_non_string(node.value()) {
        return false;
    }
    let (old_style, old_tag) = (node.style(), node.tag());
    let is_quoted =
        old_style.contains(Style::DOUBLE_QUOTED) || old_style.contains(Style::SINGLE_QUOTED);
    let (style, tag) = match known {
        // Older kyaml converts nulls to strings and numbers.
        _ if old_tag == "!!null" && release != KyamlRelease::V0_10 => (Style::NONE, old_tag),
        ScalarType::String if !is_quoted => (Style::DOUBLE_QUOTED, "!!str"),
        ScalarType::String => (old_style, "!!str"),
        ScalarType::Other(tag) if is_quoted => (Style::NONE, tag),
        ScalarType::Other(tag) => (old_style, tag),
    };
    if (style, tag) == (old_style, old_tag) {
        return false;
    }
    let tag = tag.to_owned();
    document.set_style(scalar, style);
    document.set_tag(scalar, &tag);
    true
}
