//! All nodes at a path: `*` is every item, `[name=web]` every item whose field matches the expression.

use kiln_yaml::{Document, Kind, NodeId, NodeRef, SequenceStyle};
use regex::Regex;

use super::super::KustomizeRelease;
use super::super::path_filter::{FilterError, kind_error, new_of_kind};
use super::lookup::{FoundNode, name_and_value, new_item};
use crate::budget::is_stopped;
use crate::port::go_regexp;

/// Finds nodes in document order. With a kind, missing parts are created, the last with this kind.
pub(super) fn find(
    document: &mut Document,
    path: &[String],
    create: Option<Kind>,
) -> Result<Vec<FoundNode>, FilterError> {
    let mut matcher = Matcher {
        path,
        create,
        pending: vec![PendingMatch {
            found: FoundNode {
                node: document.root().id(),
                parent: None,
                is_new: false,
            },
            at: 0,
        }],
    };
    let mut all = Vec::new();
    while let Some(step) = matcher.pending.pop() {
        if is_stopped() {
            break;
        }
        match path.get(step.at) {
            None => all.push(step.found),
            Some(element) => matcher.enter(document, &step, element)?,
        }
    }
    Ok(all)
}

/// A node from which the rest of the path is still to be followed.
struct PendingMatch {
    found: FoundNode,
    at: usize,
}

struct Matcher<'m> {
    path: &'m [String],
    create: Option<Kind>,
    pending: Vec<PendingMatch>,
}

impl Matcher<'_> {
    fn enter(
        &mut self,
        document: &mut Document,
        step: &PendingMatch,
        element: &str,
    ) -> Result<(), FilterError> {
        let node = step.found.node;
        if let Some(index) = element
            .parse::<i64>()
            .ok()
            .and_then(|i| usize::try_from(i).ok())
        {
            let item = self.item(document, step, index)?;
            self.follow(step, [item]);
        } else if let Some((name, expression)) = name_and_value(element)? {
            let items = self.matching(document, step, name, expression)?;
            self.follow(step, items.into_iter().map(|item| (item, false)));
        } else if element == "*" {
            let items = items(document, node)?;
            self.follow(step, items.into_iter().map(|item| (item, false)));
        } else {
            let field = self.field(document, step, element)?;
            self.follow(step, field);
        }
        Ok(())
    }

    fn follow<I>(&mut self, step: &PendingMatch, nodes: I)
    where
        I: IntoIterator<Item = (NodeId, bool)>,
        I::IntoIter: DoubleEndedIterator,
    {
        let parent = Some(step.found.node);
        let next = nodes.into_iter().rev().map(|(node, is_new)| PendingMatch {
            found: FoundNode {
                node,
                parent,
                is_new,
            },
            at: step.at + 1,
        });
        self.pending.extend(next);
    }

    fn field(
        &self,
        document: &mut Document,
        step: &PendingMatch,
        name: &str,
    ) -> Result<Option<(NodeId, bool)>, FilterError> {
        let node = document.node(step.found.node);
        if name.is_empty() {
            // An empty path compares the text of the node itself.
            return match node.is_null() || node.is_scalar() {
                true => Ok(None),
                false => Err(of_kind(document, node.id(), Kind::Scalar)),
            };
        }
        if !node.is_mapping() && !node.is_null() {
            return Err(of_kind(document, node.id(), Kind::Mapping));
        }
        let is_null = node.is_null();
        let entry = node.entries().find(|(key, _)| key.value() == name);
        let found = entry.map(|(_, value)| (value.id(), false));
        if found.is_some() || self.create.is_none() {
            return Ok(found);
        }
        let value = self.new_node(document, step);
        if !is_null {
            let key = document.new_scalar(name, "");
            document.push_entry(step.found.node, key, value);
        }
        Ok(Some((value, true)))
    }

    fn item(
        &self,
        document: &mut Document,
        step: &PendingMatch,
        index: usize,
    ) -> Result<(NodeId, bool), FilterError> {
        let all = items(document, step.found.node)?;
        if all.len() == index && self.create.is_some() {
            let item = self.new_node(document, step);
            document.push_item(step.found.node, item);
            return Ok((item, true));
        }
        let item = all.get(index).map(|item| (*item, false));
        item.ok_or_else(|| {
            let count = all.len();
            FilterError(format!(
                "index {index} specified but only {count} elements found"
            ))
        })
    }

    fn matching(
        &self,
        document: &mut Document,
        step: &PendingMatch,
        name: &str,
        expression: &str,
    ) -> Result<Vec<NodeId>, FilterError> {
        let all = items(document, step.found.node)?;
        let mut found = Vec::new();
        if !all.is_empty() {
            let expression =
                go_regexp::compile(expression).map_err(|error| FilterError(error.to_string()))?;
            let is_match = |item: &NodeId| is_match(document.node(*item), name, &expression);
            let all = all.into_iter().take_while(|_| !is_stopped());
            found = all.filter(is_match).collect();
        }
        if found.is_empty() && self.create.is_some() {
            found.push(new_item(document, step.found.node, name, expression));
        }
        Ok(found)
    }

    /// Creates a node for the rest of the path.
    fn new_node(&self, document: &mut Document, step: &PendingMatch) -> NodeId {
        let is_item = |next: &str| {
            let is_index = next.parse::<i64>().is_ok_and(|index| index >= 0);
            is_index || (next.starts_with('[') && next.ends_with(']'))
        };
        let kind = match self.path.get(step.at + 1).map(String::as_str) {
            None | Some("") => self.create.unwrap_or(Kind::Scalar),
            Some(next) if is_item(next) => Kind::Sequence,
            Some(_) => Kind::Mapping,
        };
        new_of_kind(document, kind)
    }
}

fn items(document: &Document, node: NodeId) -> Result<Vec<NodeId>, FilterError> {
    let node = document.node(node);
    if node.is_sequence() || node.is_null() {
        return Ok(node.items().map(NodeRef::id).collect());
    }
    Err(of_kind(document, node.id(), Kind::Sequence))
}

fn of_kind(document: &Document, node: NodeId, expected: Kind) -> FilterError {
    kind_error(document, node, expected, "", KustomizeRelease::Api0_19)
}

/// Whether the field of an item, or the item itself, matches as it is written: with quotes and comments.
fn is_match(item: NodeRef<'_>, name: &str, expression: &Regex) -> bool {
    let node = match name {
        "" => Some(item),
        name => item.get(name),
    };
    node.is_some_and(|node| {
        let text = Document::from_node(node);
        let text = kiln_yaml::to_string(&text, SequenceStyle::Compact);
        expression.is_match(text.trim())
    })
}
