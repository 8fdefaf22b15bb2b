//! Converts setter comments from the old format to the new one.

use std::rc::Rc;

use kiln_krm::Resource;
use kiln_krm::schema::is_json;
use kiln_yaml::{Document, Kind, NodeId, NodeRef, Slot};

use super::FixRelease;
use super::setters::{Definition, SETTER, SUBSTITUTION, Setters, meaning};
use crate::budget::is_stopped;
use crate::port::kyaml::{as_comment, fields};

pub(super) fn fix(
    resource: &mut Resource,
    setters: Option<&Setters>,
    release: FixRelease,
) -> Result<(), String> {
    let changes = changes(resource.document(), setters, release)?;
    if !changes.is_empty() {
        let document = resource.document_mut();
        for (node, comment) in changes {
            document.set_comment(node, Slot::Line, &as_comment(&comment));
        }
    }
    Ok(())
}

/// A node, and the comment of the key or list that contains it.
struct VisitedNode<'a> {
    node: NodeRef<'a>,
    outer: Option<Rc<Declared>>,
}

/// The comment that replaces a setter comment. An invalid setter is an error only for a scalar.
type Declared = Result<Option<String>, String>;

fn changes(
    document: &Document,
    setters: Option<&Setters>,
    release: FixRelease,
) -> Result<Vec<(NodeId, String)>, String> {
    let mut changes = Vec::new();
    let mut open = vec![VisitedNode {
        node: document.root(),
        outer: None,
    }];
    // Each item of a list may get the comment of the list.
    let mut bytes = 0;
    while let Some(VisitedNode { node, outer }) = open.pop() {
        if is_stopped() || !kiln_yaml::may_build(bytes) {
            break;
        }
        let from = open.len();
        match node.kind() {
            Kind::Mapping => {
                for (key, value) in fields(document, node.id()) {
                    let (key, value) = (document.node(key), document.node(value));
                    let about_list = (value.is_sequence() && !value.is_empty())
                        .then(|| list_comment(key.comment(Slot::Line), release))
                        .flatten();
                    let outer = match &about_list {
                        // The comment was rewritten before.
                        Some(_) => None,
                        None => declared(key, setters).map(Rc::new),
                    };
                    changes.extend(about_list.map(|comment| (key.id(), comment)));
                    open.push(VisitedNode { node: value, outer });
                }
            }
            Kind::Sequence => {
                let outer = declared(node, setters).map(Rc::new);
                open.extend(node.items().map(|node| VisitedNode {
                    node,
                    outer: outer.clone(),
                }));
            }
            Kind::Scalar => {
                let comment = match declared(node, setters) {
                    Some(declared) => declared?,
                    None => match outer.as_deref() {
                        Some(outer) => outer.clone()?,
                        None => None,
                    },
                };
                bytes += comment.as_ref().map_or(0, String::len);
                changes.extend(comment.map(|comment| (node.id(), comment)));
            }
            Kind::Alias => {}
        }
        if let Some(children) = open.get_mut(from..) {
            children.reverse();
        }
    }
    Ok(changes)
}

/// The new comment after the key of a list.
fn list_comment(comment: &str, release: FixRelease) -> Option<String> {
    const SHORT: &str = "# {\"$kpt-set\":\"";
    const LONG: &str = "# {\"$ref\":\"#/definitions/io.k8s.cli.";
    let prefix = match release {
        FixRelease::V0_2_0 => comment.contains("$kpt-set").then_some(SHORT)?,
        // If both occur, the one that is searched for last counts.
        FixRelease::V0_2_1 => [LONG, SHORT].into_iter().find(|it| comment.contains(it))?,
    };
    let name = comment.strip_prefix(prefix).unwrap_or(comment);
    let name = name.strip_suffix("\"}").unwrap_or(name);
    Some(format!("kpt-set: ${{{name}}}"))
}

/// The replacement for the first comment of a node, if that is a setter comment.
fn declared(node: NodeRef<'_>, setters: Option<&Setters>) -> Option<Declared> {
    let comments = [Slot::Line, Slot::Head].map(|slot| node.comment(slot));
    let comment = comments.into_iter().find(|comment| !comment.is_empty())?;
    let text = comment.trim_start_matches('#').trim();
    if !text.starts_with('{') || !text.ends_with('}') || text.contains('\n') {
        return None;
    }
    let document = kiln_yaml::parse(text).ok().flatten()?;
    let root = document.root();
    (!root.is_empty() && is_json(root)).then(|| new_comment(root, setters))
}

fn new_comment(declaration: NodeRef<'_>, setters: Option<&Setters>) -> Declared {
    let find = |name: &str| setters.and_then(|setters| setters.definition(name));
    let definition = match short_name(declaration) {
        Some(name) => {
            let setter = find(&format!("{SETTER}{name}"));
            setter.or_else(|| find(&format!("{SUBSTITUTION}{name}")))
        }
        None => declaration
            .get("$ref")
            .and_then(|reference| find(reference.value().strip_prefix("#/definitions/")?)),
    };
    Ok(match meaning(definition.unwrap_or(declaration))? {
        Definition::Setter { name, .. } => Some(format!("kpt-set: ${{{name}}}")),
        Definition::Substitution(substitution) => match setters {
            Some(setters) => Some(format!("kpt-set: {}", setters.pattern(substitution)?)),
            None => None,
        },
        Definition::Neither => None,
    })
}

/// The name in `{"$kpt-set":"name"}`; other fields must be strings.
fn short_name(root: NodeRef<'_>) -> Option<&str> {
    let is_text = |(_, value): (NodeRef<'_>, NodeRef<'_>)| {
        value.is_scalar() && matches!(value.tag(), "!!str" | "!!null")
    };
    let name = root.get("$kpt-set")?.as_text()?;
    (root.entries().all(is_text) && !name.is_empty()).then_some(name)
}
