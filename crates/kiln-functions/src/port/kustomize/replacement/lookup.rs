//! One node by its path, as kyaml looks it up.

use kiln_yaml::{Document, Kind, NodeId};

use super::super::Generation;
use super::super::path_filter::{FilterError, kind_error, new_of_kind};

/// A node and what it is a child of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Found {
    pub(crate) node: NodeId,
    /// None for the top node, and for nodes that were made where nobody sees them.
    pub(crate) parent: Option<NodeId>,
    /// Whether it was made because it was missing.
    pub(crate) is_new: bool,
}

/// The node at a path; none if something on the way is missing.
pub(crate) fn look_up(
    document: &Document,
    path: &[String],
    generation: Generation,
) -> Result<Option<Found>, FilterError> {
    let mut found = top(document);
    let mut names: Vec<&str> = Vec::new();
    for element in clean(path) {
        let step = Step::read(element, generation)?;
        let inside = step.find(document, found.node, &names, generation)?;
        if let Step::Field(name) = step {
            names.push(name);
        }
        match inside {
            Some(node) => {
                let parent = Some(found.node);
                found = Found {
                    node,
                    parent,
                    is_new: false,
                };
            }
            None => return Ok(None),
        }
    }
    Ok(Some(found))
}

/// The node at a path, with everything on the way made where it is missing; a new last node is of this kind. Items
/// addressed by number are not made.
pub(super) fn look_up_or_create(
    document: &mut Document,
    path: &[String],
    kind: Kind,
    generation: Generation,
) -> Result<Option<Found>, FilterError> {
    let mut found = top(document);
    let mut names: Vec<&str> = Vec::new();
    let mut elements = clean(path).peekable();
    while let Some(element) = elements.next() {
        let step = Step::read(element, generation)?;
        let inside = step.find(document, found.node, &names, generation)?;
        let parent = Some(found.node);
        let node = match (inside, step) {
            (Some(node), _) => node,
            (None, _) if document.node(found.node).is_null() => return Ok(None),
            (None, Step::Field(name)) => {
                let is_list = |next: &&str| next.starts_with('[') && next.ends_with(']');
                let kind = match elements.peek() {
                    None => kind,
                    Some(next) if is_list(next) => Kind::Sequence,
                    Some(_) => Kind::Mapping,
                };
                let value = new_of_kind(document, kind);
                let key = document.new_scalar(name, "");
                document.push_entry(found.node, key, value);
                value
            }
            (None, Step::Item(name, value)) => new_item(document, found.node, name, value),
            (None, Step::Index(_) | Step::Last) => return Ok(None),
        };
        if let Step::Field(name) = step {
            names.push(name);
        }
        found = Found {
            node,
            parent,
            is_new: inside.is_none(),
        };
    }
    Ok(Some(found))
}

/// Appends an item that has this field, or this text.
pub(super) fn new_item(document: &mut Document, list: NodeId, name: &str, value: &str) -> NodeId {
    let item = match name {
        "" => document.new_scalar(value, ""),
        name => {
            let item = document.new_mapping_node();
            let key = document.new_scalar(name, "");
            let value = document.new_scalar(value, "");
            document.push_entry(item, key, value);
            item
        }
    };
    document.push_item(list, item);
    item
}

fn top(document: &Document) -> Found {
    Found {
        node: document.root().id(),
        parent: None,
        is_new: false,
    }
}

/// The elements that count.
fn clean(path: &[String]) -> impl Iterator<Item = &str> {
    let elements = path.iter().map(|element| element.trim());
    elements.filter(|element| !element.is_empty())
}

#[derive(Clone, Copy)]
enum Step<'p> {
    Field(&'p str),
    Index(usize),
    Last,
    /// The first item that has this field, or this text if the field has no name.
    Item(&'p str, &'p str),
}

impl<'p> Step<'p> {
    fn read(element: &'p str, generation: Generation) -> Result<Step<'p>, FilterError> {
        if let Ok(index) = element.parse::<i64>() {
            let negative = |_| FilterError(format!("array index {index} cannot be negative"));
            return usize::try_from(index).map(Step::Index).map_err(negative);
        }
        match element {
            "-" => Ok(Step::Last),
            "*" if generation == Generation::Of2025 => Err(FilterError(
                "wildcard is not supported in PathGetter".to_owned(),
            )),
            _ => match name_and_value(element)? {
                Some((name, value)) => Ok(Step::Item(name, value)),
                None => Ok(Step::Field(element)),
            },
        }
    }

    fn find(
        self,
        document: &Document,
        node: NodeId,
        names: &[&str],
        generation: Generation,
    ) -> Result<Option<NodeId>, FilterError> {
        let node = document.node(node);
        let expected = match self {
            Step::Field(_) => Kind::Mapping,
            Step::Index(_) | Step::Last | Step::Item(..) => Kind::Sequence,
        };
        if node.is_null() {
            return Ok(None);
        }
        if node.kind() != expected {
            let path = names.join(".");
            return Err(kind_error(document, node.id(), expected, &path, generation));
        }
        let found = match self {
            Step::Field(name) => {
                let mut entries = node.entries();
                let entry = entries.find(|(key, _)| key.value() == name);
                entry.map(|(_, value)| value)
            }
            Step::Index(index) => node.items().nth(index),
            Step::Last => node.items().last(),
            Step::Item("", text) => node.items().find(|item| item.value() == text),
            Step::Item(name, text) => node
                .items()
                .find(|item| item.get(name).is_some_and(|value| value.value() == text)),
        };
        Ok(found.map(|node| node.id()))
    }
}

/// `[name=value]` as its two sides; none if it is no such thing.
pub(super) fn name_and_value(element: &str) -> Result<Option<(&str, &str)>, FilterError> {
    let inner = element
        .strip_prefix('[')
        .and_then(|inner| inner.strip_suffix(']'));
    let Some(inner) = inner else {
        return Ok(None);
    };
    let sides = inner.split_once('=');
    sides.map(Some).ok_or_else(|| {
        let text = "list path element must contain fieldName=fieldValue for element to match";
        FilterError(text.to_owned())
    })
}
