//! Finding nodes by path, and creating what is missing.

use super::error::{EditError, expect_kind};
use super::path::{PathElement, clean, kind_for};
use crate::document::Document;
use crate::node::{Kind, NodeId};
use crate::noderef::NodeRef;

pub(super) fn lookup<'a>(
    from: NodeRef<'a>,
    path: &[&str],
) -> Result<Option<NodeRef<'a>>, EditError> {
    let mut node = from;
    for element in clean(path) {
        match find(node, PathElement::parse(element)?)? {
            Some(found) => node = found,
            None => return Ok(None),
        }
    }
    Ok(Some(node))
}

pub(super) fn lookup_create(
    doc: &mut Document,
    from: NodeId,
    path: &[&str],
    kind: Kind,
) -> Result<Option<NodeId>, EditError> {
    let path = clean(path);
    let mut node = from;
    for (at, element) in path.iter().enumerate() {
        let step = PathElement::parse(element)?;
        if let Some(found) = find(doc.node(node), step)? {
            node = found.id();
            continue;
        }
        if doc.node(node).is_tagged_null() {
            return Ok(None);
        }
        node = match step {
            PathElement::Key(name) => {
                let value = doc.new_of_kind(kind_for(path.get(at + 1).copied(), kind));
                doc.push_field(node, name, value);
                value
            }
            PathElement::Text(text) => {
                let item = doc.new_scalar(text, "");
                doc.push_item(node, item);
                item
            }
            PathElement::Field(name, value) => {
                let item = doc.new_mapping_node();
                let value = doc.new_scalar(value, "");
                doc.push_field(item, name, value);
                doc.push_item(node, item);
                item
            }
            PathElement::Index(_) | PathElement::Last => return Ok(None),
        };
    }
    Ok(Some(node))
}

/// The child that a path element selects. A null has no children.
fn find<'a>(node: NodeRef<'a>, step: PathElement<'_>) -> Result<Option<NodeRef<'a>>, EditError> {
    if let PathElement::Key(name) = step {
        expect_kind(node, Kind::Mapping)?;
        return Ok(node.field(name).map(|(_, value)| value));
    }
    expect_kind(node, Kind::Sequence)?;
    Ok(match step {
        PathElement::Index(index) => node.items().nth(index),
        PathElement::Last => Some(node.items().last().ok_or(EditError::NoLastItem)?),
        PathElement::Text(text) => node.items().find(|item| item.value() == text),
        PathElement::Field(name, value) => node
            .items()
            .find(|item| item.field(name).is_some_and(|(_, v)| v.value() == value)),
        PathElement::Key(_) => None,
    })
}
