//! Giving what a function returned the comments and the field order of what it got.
//!
//! Input and output are matched by the number that the function got with each resource. Each pair is walked once.

use std::cell::OnceCell;
use std::collections::HashSet;

use kiln_krm::annotations::{ID, LEGACY_ID};
use kiln_krm::schema::Schema;
use kiln_krm::{Resource, meta};
use kiln_yaml::{Document, EditError, NodeRef, Slot, SyncOrderError, copy_comments, sync_order};

use crate::options::Behaviour;

/// Why comments or order cannot be given back.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum RestoreError {
    /// A tree has an unexpected shape.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The order is lost.
    #[error(transparent)]
    Order(#[from] SyncOrderError),
}

/// A resource that a function returned.
pub(crate) enum Returned {
    /// New or changed.
    New(Box<Resource>),
    /// The input at this place, as it was.
    Kept(usize),
}

impl Returned {
    pub(crate) fn root<'a>(&'a self, inputs: &'a [Resource]) -> Option<NodeRef<'a>> {
        match self {
            Returned::New(resource) => Some(resource.root()),
            Returned::Kept(place) => inputs.get(*place).map(Resource::root),
        }
    }

    pub(crate) fn resource_mut<'a>(
        &'a mut self,
        inputs: &'a mut [Resource],
    ) -> Option<&'a mut Resource> {
        match self {
            Returned::New(resource) => Some(resource),
            Returned::Kept(place) => inputs.get_mut(*place),
        }
    }
}

/// Numbers what a function gets.
pub(crate) fn set_ids(inputs: &mut [Resource]) -> Result<(), EditError> {
    for (place, resource) in inputs.iter_mut().enumerate() {
        let id = (place + 1).to_string();
        resource.set_annotation(ID, &id)?;
        resource.set_annotation(LEGACY_ID, &id)?;
    }
    Ok(())
}

/// Brings back comments and order, and finds what did not change.
pub(crate) fn restore(
    outputs: Vec<Resource>,
    inputs: &mut [Resource],
    behaviour: Behaviour,
) -> Result<Vec<Returned>, RestoreError> {
    let mut kept = HashSet::new();
    let mut returned = Vec::with_capacity(outputs.len());
    let feet = OnceCell::new();
    for mut output in outputs {
        let [id, legacy_id] = meta::several_annotations(output.root(), [ID, LEGACY_ID]);
        let place = id.or(legacy_id).and_then(place_of);
        let Some((place, input)) = place.and_then(|place| Some((place, inputs.get(place)?))) else {
            if behaviour == Behaviour::Kiln && has_comment_above(&output) {
                let feet = feet.get_or_init(|| foot_lines(inputs));
                remove_strange_feet(&mut output, None, feet);
            }
            returned.push(Returned::New(Box::new(output)));
            continue;
        };
        let may_keep = behaviour == Behaviour::Kiln && !kept.contains(&place);
        // What came back as it went needs nothing from its input: it is the input.
        let is_kept = may_keep && is_unchanged(input.root(), output.root()) || {
            if behaviour == Behaviour::Kiln && has_comment_above(&output) {
                let feet = feet.get_or_init(|| foot_lines(inputs));
                remove_strange_feet(&mut output, Some(input), feet);
            }
            restore_one(&mut output, input, behaviour)?;
            may_keep && is_unchanged(input.root(), output.root())
        };
        if is_kept {
            kept.insert(place);
        }
        let resource = match inputs.get_mut(place) {
            Some(input) if is_kept => input,
            _ => &mut output,
        };
        resource.remove_annotation(ID)?;
        resource.remove_annotation(LEGACY_ID)?;
        returned.push(match is_kept {
            true => Returned::Kept(place),
            false => Returned::New(Box::new(output)),
        });
    }
    Ok(returned)
}

/// The place of the input with this number. Only numbers as they were given out count.
fn place_of(id: &str) -> Option<usize> {
    let number: usize = id.parse().ok()?;
    (number.to_string() == id)
        .then(|| number.checked_sub(1))
        .flatten()
}

fn restore_one(
    output: &mut Resource,
    input: &Resource,
    behaviour: Behaviour,
) -> Result<(), RestoreError> {
    let origin = input.origin().cloned();
    let from = input.document();
    let start = output.start();
    let document = output.document_mut();
    copy_comments((from, input.start()), (document, start), Schema::builtin())?;
    sync_order(from.root(), document, start)?;
    if behaviour == Behaviour::Kiln {
        keep_foot(from, document);
    }
    if origin.is_some() {
        let restored = std::mem::replace(output, Resource::new(Document::new_mapping()));
        *output = restored.with_origin(origin);
    }
    Ok(())
}

/// Keeps the last comment of a document where it is not in the way.
///
/// kpt loses it, or puts it below the resource's tree, from where it gets to the next function and there to the next
/// resource of the list, which go-yaml cannot always write after it.
fn keep_foot(from: &Document, to: &mut Document) {
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

/// All lines of comments below something.
fn foot_lines(inputs: &[Resource]) -> HashSet<String> {
    let mut lines = HashSet::new();
    let mut add = |comment: &str| {
        let found = comment.lines().filter(|line| !line.is_empty());
        lines.extend(found.map(str::to_owned));
    };
    for input in inputs {
        add(input.document().comment(Slot::Foot));
        let mut pending = vec![input.root()];
        while let Some(node) = pending.pop() {
            add(node.comment(Slot::Foot));
            pending.extend(node.children());
        }
    }
    lines
}

/// Removes the comment below a resource from the one that follows it: in a list the two cannot be told apart.
fn remove_strange_feet(output: &mut Resource, input: Option<&Resource>, feet: &HashSet<String>) {
    let own: HashSet<&str> = match input {
        Some(input) => {
            let document = SLOTS.map(|slot| input.document().comment(slot));
            let nodes = tops(input.root()).map(|node| node.comment(Slot::Head));
            let comments = document.into_iter().chain(nodes);
            comments.flat_map(str::lines).collect()
        }
        None => HashSet::new(),
    };
    let is_strange = |line: &str| feet.contains(line) && !own.contains(line);
    let mut changed = Vec::new();
    for node in tops(output.root()) {
        let comment = node.comment(Slot::Head);
        if comment.lines().any(is_strange) {
            let left: Vec<&str> = comment.lines().filter(|line| !is_strange(line)).collect();
            let left = left.join("\n").trim_matches('\n').to_owned();
            changed.push((node.id(), left));
        }
    }
    for (node, comment) in changed {
        let document = output.document_mut();
        document.set_comment(node, Slot::Head, &comment);
    }
}

fn has_comment_above(resource: &Resource) -> bool {
    tops(resource.root()).any(|node| !node.comment(Slot::Head).is_empty())
}

/// The nodes that have the comment above a resource: itself or its first key.
fn tops(root: NodeRef<'_>) -> impl Iterator<Item = NodeRef<'_>> {
    std::iter::once(root).chain(root.children().next())
}

const SLOTS: [Slot; 3] = [Slot::Head, Slot::Line, Slot::Foot];

/// Plain equality, but what is not there is not compared: an empty text points nowhere, and the vector instructions of
/// some C libraries take longer to find that out than to compare a kilobyte.
fn is_same_text(a: &str, b: &str) -> bool {
    a.len() == b.len() && (a.is_empty() || a == b)
}

/// Whether each line of a comment stands at the same node of the input, or at its document, whose comments an item of a
/// list has at its nodes.
fn adds_nothing(input: NodeRef<'_>, output: NodeRef<'_>, slot: Slot) -> bool {
    let (before, after) = (input.comment(slot), output.comment(slot));
    is_same_text(before, after)
        || after.lines().filter(|line| !line.is_empty()).all(|line| {
            let document = SLOTS.map(|slot| input.document().comment(slot));
            let mut known = before
                .lines()
                .chain(document.into_iter().flat_map(str::lines));
            known.any(|known| known == line)
        })
}

/// Whether the output means the same as the input, in the same order, and adds no comment to it. Styles do not count.
pub fn is_unchanged(input: NodeRef<'_>, output: NodeRef<'_>) -> bool {
    let mut pending = vec![(input, output)];
    while let Some((input, output)) = pending.pop() {
        let is_same_node = input.kind() == output.kind()
            && is_same_text(input.value(), output.value())
            && is_same_text(input.tag(), output.tag())
            && is_same_text(input.anchor(), output.anchor())
            && SLOTS
                .into_iter()
                .all(|slot| adds_nothing(input, output, slot));
        if !is_same_node {
            return false;
        }
        let (mut inputs, mut outputs) = (input.children(), output.children());
        loop {
            match (inputs.next(), outputs.next()) {
                (None, None) => break,
                (Some(input), Some(output)) => pending.push((input, output)),
                _ => return false,
            }
        }
    }
    true
}
