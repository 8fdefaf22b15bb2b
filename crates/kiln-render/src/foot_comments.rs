//! Foot comments, which move to other nodes on the way to a function and back.
//!
//! In a list, the foot comment of a resource stands before the next resource, and the parser assigns it there, or to
//! another node than in the file. So a comment that comes back at another node is not a change: it is moved back. A
//! comment that the input does not have is the function's own and stays. No comment is lost or duplicated.

use std::collections::HashSet;

use kiln_krm::Resource;
use kiln_yaml::{Document, NodeId, NodeRef, Slot};

/// Keeps the last comment as the foot comment of the document.
///
/// kpt loses it, or attaches it to the root node. From there it gets to the next function and to the next resource of
/// the list, which go-yaml cannot always write after it.
pub(crate) fn keep_foot(from: &Document, to: &mut Document) {
    let feet = |document: &Document| {
        let both = [
            document.comment(Slot::Foot),
            document.root().comment(Slot::Foot),
        ];
        let foot = both.into_iter().find(|foot| !foot.is_empty());
        foot.map(str::to_owned)
    };
    let Some(foot) = feet(to).or_else(|| feet(from)) else {
        return;
    };
    let root = to.root().id();
    to.set_comment(root, Slot::Foot, "");
    to.set_document_comment(Slot::Foot, &foot);
}

/// All lines of foot comments.
pub(crate) fn foot_lines(inputs: &[Resource]) -> HashSet<String> {
    let mut lines = HashSet::new();
    for input in inputs {
        lines.extend(lines_of(input, &[Slot::Foot]).map(str::to_owned));
    }
    lines
}

/// Removes foot comments of the resource before, which look like head comments in a list.
pub(crate) fn remove_foreign_feet(
    output: &mut Resource,
    input: Option<&Resource>,
    feet: &HashSet<String>,
) {
    let own: HashSet<&str> = match input {
        Some(input) => {
            let document = Slot::ALL.map(|slot| input.document().comment(slot));
            let nodes = tops(input.root()).map(|node| node.comment(Slot::Head));
            let comments = document.into_iter().chain(nodes);
            comments.flat_map(str::lines).collect()
        }
        None => HashSet::new(),
    };
    let is_foreign = |line: &str| feet.contains(line) && !own.contains(line);
    let mut changed = Vec::new();
    for node in tops(output.root()) {
        let comment = node.comment(Slot::Head);
        if comment.lines().any(is_foreign) {
            let left: Vec<&str> = comment.lines().filter(|line| !is_foreign(line)).collect();
            let left = left.join("\n").trim_matches('\n').to_owned();
            changed.push((node.id(), left));
        }
    }
    for (node, comment) in changed {
        let document = output.document_mut();
        document.set_comment(node, Slot::Head, &comment);
    }
}

pub(crate) fn has_comment_above(resource: &Resource) -> bool {
    tops(resource.root()).any(|node| !node.comment(Slot::Head).is_empty())
}

/// Removes comments above a resource that stand at another of its top nodes in the input: they come back from there, and would
/// be there twice.
pub(crate) fn remove_repeated_heads(output: &mut Resource, input: &Resource) {
    let heads = |resource: &Resource| -> Vec<String> {
        let document = resource.document().comment(Slot::Head);
        let nodes = tops(resource.root()).map(|node| node.comment(Slot::Head));
        let heads = std::iter::once(document).chain(nodes);
        heads.map(str::to_owned).collect()
    };
    if heads(output).iter().all(String::is_empty) {
        return;
    }
    let known = heads(input);
    let ids: Vec<NodeId> = tops(output.root()).map(NodeRef::id).collect();
    for (place, comment) in heads(output).into_iter().enumerate() {
        let elsewhere = known.iter().enumerate().filter(|(at, _)| *at != place);
        let left = elsewhere.fold(comment.clone(), |left, (_, head)| without(left, head));
        if left == comment {
            continue;
        }
        let document = output.document_mut();
        match place.checked_sub(1).and_then(|at| ids.get(at)) {
            Some(node) => document.set_comment(*node, Slot::Head, &left),
            None => document.set_document_comment(Slot::Head, &left),
        }
    }
}

/// A comment without the lines of another one, if it has them all, one after the other.
fn without(comment: String, other: &str) -> String {
    let other: Vec<&str> = filled(other).collect();
    let lines: Vec<&str> = filled(&comment).collect();
    if other.is_empty() {
        return comment;
    }
    match lines.windows(other.len()).position(|run| run == other) {
        Some(start) => {
            let (before, rest) = lines.split_at(start);
            let after = rest.get(other.len()..).unwrap_or_default();
            [before, after].concat().join("\n")
        }
        None => comment,
    }
}

/// The nodes that can have the head comment of a resource: the root or its first key.
fn tops(root: NodeRef<'_>) -> impl Iterator<Item = NodeRef<'_>> {
    std::iter::once(root).chain(root.children().next())
}

/// Comments that were removed from an output because its input has them, perhaps at another node.
pub(crate) struct MovedComments(Vec<(NodeId, Slot, String)>);

impl MovedComments {
    /// Removes foot comments that the input has anywhere, and head comments that are foot comments in the input.
    pub(crate) fn take(output: &mut Resource, input: &Resource) -> MovedComments {
        let all: HashSet<&str> = lines_of(input, &Slot::ALL).collect();
        let feet: HashSet<&str> = lines_of(input, &[Slot::Foot]).collect();
        let heads: HashSet<&str> = lines_of(input, &[Slot::Head]).collect();
        let is_moved = |slot: Slot, comment: &str| {
            let mut lines = filled(comment).peekable();
            lines.peek().is_some()
                && lines.all(|line| match slot {
                    Slot::Foot => all.contains(line),
                    _ => feet.contains(line) && !heads.contains(line),
                })
        };
        let mut moved = Vec::new();
        for node in nodes(output.root()) {
            for slot in [Slot::Head, Slot::Foot] {
                let comment = node.comment(slot);
                if is_moved(slot, comment) {
                    moved.push((node.id(), slot, comment.to_owned()));
                }
            }
        }
        for (node, slot, _) in &moved {
            output.document_mut().set_comment(*node, *slot, "");
        }
        MovedComments(moved)
    }

    /// Puts back those that were not restored from the input because their node no longer exists.
    pub(crate) fn put_back(self, output: &mut Resource) {
        if self.0.is_empty() {
            return;
        }
        let lines = lines_of(output, &Slot::ALL).map(str::to_owned);
        let present: HashSet<String> = lines.collect();
        for (node, slot, comment) in self.0 {
            let is_lost = filled(&comment).any(|line| !present.contains(line));
            if is_lost && output.document().node(node).comment(slot).is_empty() {
                output.document_mut().set_comment(node, slot, &comment);
            }
        }
    }
}

/// The lines of a resource's comments in these slots.
fn lines_of<'a>(resource: &'a Resource, slots: &'a [Slot]) -> impl Iterator<Item = &'a str> {
    let document = slots.iter().map(|slot| resource.document().comment(*slot));
    let nodes = nodes(resource.root());
    let nodes = nodes.flat_map(|node| slots.iter().map(move |slot| node.comment(*slot)));
    document.chain(nodes).flat_map(filled)
}

/// The lines of a comment that are not blank.
fn filled(comment: &str) -> impl Iterator<Item = &str> {
    comment.lines().filter(|line| !line.trim().is_empty())
}

/// A node and all its descendants.
fn nodes(root: NodeRef<'_>) -> impl Iterator<Item = NodeRef<'_>> {
    let mut pending = vec![root];
    std::iter::from_fn(move || {
        let node = pending.pop()?;
        pending.extend(node.children());
        Some(node)
    })
}
