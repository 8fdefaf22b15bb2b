//! Giving what a function returned the comments and the field order of what it got.
//!
//! Input and output are matched by the number that the function got with each resource. Each pair is walked once.

use std::collections::HashSet;

use kiln_krm::Resource;
use kiln_krm::annotations::{ID, LEGACY_ID};
use kiln_krm::schema::Schema;
use kiln_yaml::{EditError, NodeRef, Slot, SyncOrderError, copy_comments, sync_order};

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
    for mut output in outputs {
        let id = output
            .annotation(ID)
            .or_else(|| output.annotation(LEGACY_ID));
        let place = id.and_then(place_of);
        let Some((place, input)) = place.and_then(|place| Some((place, inputs.get_mut(place)?)))
        else {
            returned.push(Returned::New(Box::new(output)));
            continue;
        };
        let may_keep = behaviour == Behaviour::Kiln && !kept.contains(&place);
        // What came back as it went needs nothing from its input: it is the input.
        let is_kept = may_keep && is_unchanged(input.root(), output.root()) || {
            restore_one(&mut output, input)?;
            may_keep && is_unchanged(input.root(), output.root())
        };
        if is_kept {
            kept.insert(place);
        }
        let resource = if is_kept { input } else { &mut output };
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

fn restore_one(output: &mut Resource, input: &Resource) -> Result<(), RestoreError> {
    let origin = input.origin().cloned();
    let from = input.document();
    let start = output.start();
    let document = output.document_mut();
    copy_comments((from, input.start()), (document, start), Schema::builtin())?;
    sync_order(from.root(), document, start)?;
    if origin.is_some() {
        let restored = std::mem::replace(output, Resource::new(kiln_yaml::Document::new_mapping()));
        *output = restored.with_origin(origin);
    }
    Ok(())
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
