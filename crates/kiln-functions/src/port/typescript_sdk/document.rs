//! A document after js-yaml has read and written it.

use std::collections::HashMap;

use kiln_yaml::{Document, Kind, NodeId, NodeRef, Slot, Style};

use super::Exception;
use super::resolve::{Plain, number_text, resolve};
use super::style::{new_key, set_text};
use crate::budget::is_stopped;

/// How many nodes aliases may expand to.
const MAX_NODES: usize = 1_000_000;

/// Without comments, anchors and aliases, in js-yaml's styles; numbers are those of JavaScript, and keys are strings.
pub(super) fn through_js_yaml(original: &Document) -> Result<Document, Exception> {
    let mut document = original.clone();
    for slot in Slot::ALL {
        document.set_document_comment(slot, "");
    }
    let nodes = expand(&mut document, original)?;
    // Children come before their collection.
    for node in nodes.into_iter().rev() {
        for slot in Slot::ALL {
            document.set_comment(node, slot, "");
        }
        if !document.node(node).anchor().is_empty() {
            document.set_anchor(node, "");
        }
        match document.node(node).kind() {
            Kind::Mapping => finish_mapping(&mut document, node)?,
            Kind::Sequence => {
                for item in document.child_ids(node) {
                    finish_value(&mut document, item);
                }
                document.set_style(node, Style::NONE);
            }
            Kind::Scalar => finish_scalar(&mut document, node)?,
            Kind::Alias => {}
        }
    }
    Ok(document)
}

/// Replaces aliases with copies; returns all nodes, collections before their content.
fn expand(document: &mut Document, original: &Document) -> Result<Vec<NodeId>, Exception> {
    let mut named: HashMap<String, NodeId> = HashMap::new();
    let mut nodes = Vec::new();
    let mut open = vec![document.root().id()];
    while let Some(id) = open.pop() {
        if is_stopped() {
            break;
        }
        nodes.push(id);
        if nodes.len() > MAX_NODES {
            let text = "RangeError: Maximum call stack size exceeded";
            return Err(Exception(text.to_owned()));
        }
        let mut children = document.child_ids(id);
        let mut has_aliases = false;
        for child in &mut children {
            let node = document.node(*child);
            if node.kind() == Kind::Alias {
                let unknown = || {
                    let name = node.value();
                    Exception(format!("YAMLException: unidentified alias \"{name}\""))
                };
                let target = *named.get(node.value()).ok_or_else(unknown)?;
                *child = document.import(original.node(target));
                has_aliases = true;
            } else if !node.anchor().is_empty() {
                // Copies have anchors as well, whose targets are known already.
                let name = node.anchor().to_owned();
                named.entry(name).or_insert(*child);
            }
        }
        if has_aliases {
            document.set_children(id, &children);
        }
        open.extend(children.into_iter().rev());
    }
    Ok(nodes)
}

fn finish_mapping(document: &mut Document, mapping: NodeId) -> Result<(), Exception> {
    let mut fields: Vec<(String, NodeId)> = Vec::new();
    let mut places: HashMap<String, (usize, Origin)> = HashMap::new();
    let entries: Vec<_> = document.node(mapping).entries().collect();
    for (key, value) in entries {
        if is_merge(key) {
            let sources: Vec<_> = match value.kind() {
                Kind::Sequence => value.items().collect(),
                _ => vec![value],
            };
            for source in sources {
                if !source.is_mapping() {
                    let text = "cannot merge mappings; the provided source object is unacceptable";
                    return Err(Exception(format!("YAMLException: {text}")));
                }
                for (key, value) in source.entries() {
                    places.entry(key.value().to_owned()).or_insert_with(|| {
                        fields.push((key.value().to_owned(), value.id()));
                        (fields.len() - 1, Origin::Merged)
                    });
                }
            }
            continue;
        }
        let name = match key.kind() {
            Kind::Scalar => key.value(),
            _ => "[object Object]",
        };
        match places.get_mut(name) {
            Some((_, Origin::Own)) => {
                let text = "YAMLException: duplicated mapping key";
                return Err(Exception(text.to_owned()));
            }
            Some((place, origin)) => {
                *origin = Origin::Own;
                if let Some((_, old)) = fields.get_mut(*place) {
                    *old = value.id();
                }
            }
            None => {
                places.insert(name.to_owned(), (fields.len(), Origin::Own));
                fields.push((name.to_owned(), value.id()));
            }
        }
    }
    // JavaScript objects have integer-like keys first.
    fields.sort_by_key(|(name, _)| index_like(name).unwrap_or(u32::MAX));
    let mut children = Vec::with_capacity(fields.len() * 2);
    for (name, value) in fields {
        finish_value(document, value);
        children.extend([new_key(document, &name), value]);
    }
    document.set_children(mapping, &children);
    document.set_style(mapping, Style::NONE);
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    Own,
    Merged,
}

fn index_like(name: &str) -> Option<u32> {
    let index: u32 = name.parse().ok().filter(|index| *index < u32::MAX)?;
    (index.to_string() == name).then_some(index)
}

/// Whether a node is a merge key.
fn is_merge(node: NodeRef<'_>) -> bool {
    node.is_scalar() && node.value() == "<<" && !node.style().is_quoted_or_block()
}

fn finish_value(document: &mut Document, value: NodeId) {
    if is_merge(document.node(value)) {
        set_text(document, value, "<<");
    }
}

fn finish_scalar(document: &mut Document, scalar: NodeId) -> Result<(), Exception> {
    let node = document.node(scalar);
    if is_merge(node) {
        // The mapping decides whether it is a key.
        return Ok(());
    }
    let (text, style) = (node.value().to_owned(), node.style());
    let is_tagged = style.contains(Style::TAGGED);
    let tag = node.tag().to_owned();
    let plain = match tag.as_str() {
        "!!str" if is_tagged => Plain::String,
        "!!binary" => return Ok(()),
        tag if is_tagged && !tag.starts_with("!!") => {
            return Err(Exception(format!("YAMLException: unknown tag !<{tag}>")));
        }
        _ if !is_tagged && style.is_quoted_or_block() => Plain::String,
        tag => match (resolve(&text), is_tagged) {
            (Plain::String, true) => {
                let tag = tag.trim_start_matches('!');
                return Err(Exception(format!(
                    "YAMLException: cannot resolve a node with !<tag:yaml.org,2002:{tag}> explicit tag"
                )));
            }
            (plain, _) => plain,
        },
    };
    let text = match plain {
        Plain::String => {
            set_text(document, scalar, &text);
            return Ok(());
        }
        Plain::Null => "null".to_owned(),
        Plain::Boolean(value) => value.to_string(),
        Plain::Number(value) => number_text(value),
        Plain::Date(text) => text,
    };
    document.set_value(scalar, &text);
    document.set_style(scalar, Style::NONE);
    document.set_tag(scalar, "");
    Ok(())
}
