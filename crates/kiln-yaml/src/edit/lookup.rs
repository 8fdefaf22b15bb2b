//! Finding nodes by path, and creating what is missing.

use super::error::{EditError, expect_kind};
use super::path::{Step, clean, kind_for};
use crate::document::Document;
use crate::node::{Kind, NodeId};
use crate::noderef::NodeRef;

pub(super) fn lookup<'a>(
    from: NodeRef<'a>,
    path: &[&str],
) -> Result<Option<NodeRef<'a>>, EditError> {
    let mut node = from;
    for element in clean(path) {
        match find(node, Step::parse(element)?)? {
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
        let step = Step::parse(element)?;
        if let Some(found) = find(doc.node(node), step)? {
            node = found.id();
            continue;
        }
        if doc.node(node).is_tagged_null() {
            return Ok(None);
        }
        node = match step {
            Step::Key(name) => {
                let value = doc.new_of_kind(kind_for(path.get(at + 1).copied(), kind));
                doc.push_field(node, name, value);
                value
            }
            Step::Text(text) => {
                let item = doc.new_scalar(text, "");
                doc.push_item(node, item);
                item
            }
            Step::Field(name, value) => {
                let item = doc.new_mapping_node();
                let value = doc.new_scalar(value, "");
                doc.push_field(item, name, value);
                doc.push_item(node, item);
                item
            }
            Step::Index(_) | Step::Last => return Ok(None),
        };
    }
    Ok(Some(node))
}

/// The child that a path element means. Nothing is found in a null, whatever the element.
fn find<'a>(node: NodeRef<'a>, step: Step<'_>) -> Result<Option<NodeRef<'a>>, EditError> {
    if let Step::Key(name) = step {
        expect_kind(node, Kind::Mapping)?;
        return Ok(node.field(name).map(|(_, value)| value));
    }
    expect_kind(node, Kind::Sequence)?;
    Ok(match step {
        Step::Index(index) => node.items().nth(index),
        Step::Last => Some(node.items().last().ok_or(EditError::NoLastItem)?),
        Step::Text(text) => node.items().find(|item| item.value() == text),
        Step::Field(name, value) => node
            .items()
            .find(|item| item.field(name).is_some_and(|(_, v)| v.value() == value)),
        Step::Key(_) => None,
    })
}
