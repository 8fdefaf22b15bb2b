//! Looks up one node by its path, as kyaml does.

use kiln_yaml::{Document, Kind, NodeId};

use super::super::KustomizeRelease;
use super::super::path_filter::{FilterError, kind_error, new_of_kind};

/// A node and its parent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FoundNode {
    pub(crate) node: NodeId,
    /// `None` for the root, and for created nodes that are not part of the tree.
    pub(crate) parent: Option<NodeId>,
    /// Whether it was created.
    pub(crate) is_new: bool,
}

/// The node at a path; `None` if a part of the path is missing.
pub(crate) fn look_up(
    document: &Document,
    path: &[String],
    release: KustomizeRelease,
) -> Result<Option<FoundNode>, FilterError> {
    let mut found = top(document);
    let mut names: Vec<&str> = Vec::new();
    for element in clean(path) {
        let step = PathStep::read(element, release)?;
        let inside = step.find(document, found.node, &names, release)?;
        if let PathStep::Field(name) = step {
            names.push(name);
        }
        match inside {
            Some(node) => {
                let parent = Some(found.node);
                found = FoundNode {
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

/// The node at a path; missing parts are created, the last with this kind. Items addressed by index are not created.
pub(super) fn look_up_or_create(
    document: &mut Document,
    path: &[String],
    kind: Kind,
    release: KustomizeRelease,
) -> Result<Option<FoundNode>, FilterError> {
    let mut found = top(document);
    let mut names: Vec<&str> = Vec::new();
    let mut elements = clean(path).peekable();
    while let Some(element) = elements.next() {
        let step = PathStep::read(element, release)?;
        let inside = step.find(document, found.node, &names, release)?;
        let parent = Some(found.node);
        let node = match (inside, step) {
            (Some(node), _) => node,
            (None, _) if document.node(found.node).is_null() => return Ok(None),
            (None, PathStep::Field(name)) => {
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
            (None, PathStep::Item(name, value)) => new_item(document, found.node, name, value),
            (None, PathStep::Index(_) | PathStep::Last) => return Ok(None),
        };
        if let PathStep::Field(name) = step {
            names.push(name);
        }
        found = FoundNode {
            node,
            parent,
            is_new: inside.is_none(),
        };
    }
    Ok(Some(found))
}

/// Appends an item with this field, or this text.
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

fn top(document: &Document) -> FoundNode {
    FoundNode {
        node: document.root().id(),
        parent: None,
        is_new: false,
    }
}

/// The elements without empty ones.
fn clean(path: &[String]) -> impl Iterator<Item = &str> {
    let elements = path.iter().map(|element| element.trim());
    elements.filter(|element| !element.is_empty())
}

#[derive(Clone, Copy)]
enum PathStep<'p> {
    Field(&'p str),
    Index(usize),
    Last,
    /// The first item with this field, or with this text if the field has no name.
    Item(&'p str, &'p str),
}

impl<'p> PathStep<'p> {
    fn read(element: &'p str, release: KustomizeRelease) -> Result<PathStep<'p>, FilterError> {
        if let Ok(index) = element.parse::<i64>() {
            let negative = |_| FilterError(format!("array index {index} cannot be negative"));
            return usize::try_from(index)
                .map(PathStep::Index)
                .map_err(negative);
        }
        match element {
            "-" => Ok(PathStep::Last),
            "*" if release == KustomizeRelease::Api0_19 => Err(FilterError(
                "wildcard is not supported in PathGetter".to_owned(),
            )),
            _ => match name_and_value(element)? {
                Some((name, value)) => Ok(PathStep::Item(name, value)),
                None => Ok(PathStep::Field(element)),
            },
        }
    }

    fn find(
        self,
        document: &Document,
        node: NodeId,
        names: &[&str],
        release: KustomizeRelease,
    ) -> Result<Option<NodeId>, FilterError> {
        let node = document.node(node);
        let expected = match self {
            PathStep::Field(_) => Kind::Mapping,
            PathStep::Index(_) | PathStep::Last | PathStep::Item(..) => Kind::Sequence,
        };
        if node.is_null() {
            return Ok(None);
        }
        if node.kind() != expected {
            let path = names.join(".");
            return Err(kind_error(document, node.id(), expected, &path, release));
        }
        let found = match self {
            PathStep::Field(name) => {
                let mut entries = node.entries();
                let entry = entries.find(|(key, _)| key.value() == name);
                entry.map(|(_, value)| value)
            }
            PathStep::Index(index) => node.items().nth(index),
            PathStep::Last => node.items().last(),
            PathStep::Item("", text) => node.items().find(|item| item.value() == text),
            PathStep::Item(name, text) => node
                .items()
                .find(|item| item.get(name).is_some_and(|value| value.value() == text)),
        };
        Ok(found.map(|node| node.id()))
    }
}

/// The two sides of `[name=value]`; `None` for other elements.
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
