//! Giving what a function returned the comments and the field order of what it got.
//!
//! Input and output are matched by the number that the function got with each resource. Each pair is walked once.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::sync::OnceLock;

use kiln_krm::annotations::{ID, LEGACY_ID};
use kiln_krm::parallel::{Worth, try_map};
use kiln_krm::schema::Schema;
use kiln_krm::{Resource, meta};
use kiln_yaml::{
    Document, EditError, NodeRef, Slot, SyncOrderError, copy_comments, copy_matching_comments,
    sync_matching_order, sync_order,
};

use crate::feet::{
    Moved, SLOTS, foot_lines, has_comment_above, keep_foot, remove_repeated_heads,
    remove_strange_feet,
};
use crate::options::Behaviour;
use crate::stray_marks::GivenMarks;

/// Why comments or order cannot be given back.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RestoreError {
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

/// The outputs of a function with the comments and the order of its inputs, which are known by their number. An output that
/// is as its input was is that input.
pub fn restore_list(
    outputs: Vec<Resource>,
    mut inputs: Vec<Resource>,
    threads: NonZeroUsize,
) -> Result<Vec<Resource>, RestoreError> {
    let returned = restore(outputs, &mut inputs, Behaviour::Kiln, threads)?;
    Ok(materialize(returned, &mut inputs))
}

/// The resources that were returned. The inputs among them are gone from `inputs` then.
pub(crate) fn materialize(returned: Vec<Returned>, inputs: &mut Vec<Resource>) -> Vec<Resource> {
    let mut slots: Vec<Option<Resource>> = std::mem::take(inputs).into_iter().map(Some).collect();
    let mut outputs = Vec::with_capacity(returned.len());
    for item in returned {
        match item {
            Returned::New(resource) => outputs.push(*resource),
            Returned::Kept(place) => outputs.extend(slots.get_mut(place).and_then(Option::take)),
        }
    }
    inputs.extend(slots.into_iter().flatten());
    outputs
}

/// Brings back comments and order, and finds what did not change.
pub(crate) fn restore(
    outputs: Vec<Resource>,
    inputs: &mut [Resource],
    behaviour: Behaviour,
    threads: NonZeroUsize,
) -> Result<Vec<Returned>, RestoreError> {
    let outputs: Vec<(Resource, Option<usize>)> = outputs
        .into_iter()
        .map(|output| {
            let [id, legacy_id] = meta::several_annotations(output.root(), [ID, LEGACY_ID]);
            let place = id.or(legacy_id).and_then(place_of);
            (output, place.filter(|place| *place < inputs.len()))
        })
        .collect();
    let restorer = Restorer {
        inputs,
        behaviour,
        feet: OnceLock::new(),
        marks: GivenMarks::default(),
    };
    let mut places = HashSet::new();
    let is_repeated =
        |(_, place): &(Resource, Option<usize>)| place.is_some_and(|place| !places.insert(place));
    let restored = if outputs.iter().any(is_repeated) {
        // Only one of those with the same number can be the input, and which one depends on those before it.
        let mut kept = HashSet::new();
        let mut restored = Vec::with_capacity(outputs.len());
        for (output, place) in outputs {
            let one = restorer.one(output, place, !kept.contains(&place))?;
            kept.extend(one.is_kept.then_some(place));
            restored.push(one);
        }
        restored
    } else {
        try_map(outputs, threads, Worth::Resources, |(output, place)| {
            restorer.one(output, place, true)
        })?
    };
    let mut returned = Vec::with_capacity(restored.len());
    for one in restored {
        returned.push(match one.place.filter(|_| one.is_kept) {
            Some(place) => {
                if let Some(input) = inputs.get_mut(place) {
                    remove_ids(input)?;
                }
                Returned::Kept(place)
            }
            None => Returned::New(Box::new(one.output)),
        });
    }
    Ok(returned)
}

/// An output that has got back what it had lost.
struct Restored {
    output: Resource,
    /// The place of its input.
    place: Option<usize>,
    /// Whether it is its input, which is taken instead.
    is_kept: bool,
}

/// What is needed to restore one output.
struct Restorer<'a> {
    inputs: &'a [Resource],
    behaviour: Behaviour,
    /// The lines of all comments below inputs, once they are needed.
    feet: OnceLock<HashSet<String>>,
    marks: GivenMarks,
}

impl Restorer<'_> {
    fn one(
        &self,
        mut output: Resource,
        place: Option<usize>,
        may_keep: bool,
    ) -> Result<Restored, RestoreError> {
        let Some(input) = place.and_then(|place| self.inputs.get(place)) else {
            self.remove_strange_feet(&mut output, None);
            if self.behaviour == Behaviour::Kiln {
                self.marks.remove_strays(&mut output, self.inputs);
                // kpt writes a number that it did not give out into the file. What cannot carry annotations has none.
                let _ = remove_ids(&mut output);
            }
            return Ok(Restored {
                output,
                place: None,
                is_kept: false,
            });
        };
        let may_keep = may_keep && self.behaviour == Behaviour::Kiln;
        // What came back as it went needs nothing from its input: it is the input.
        let is_kept = may_keep && is_unchanged(input.root(), output.root()) || {
            self.remove_strange_feet(&mut output, Some(input));
            if self.behaviour == Behaviour::Kiln {
                self.marks.remove_strays(&mut output, self.inputs);
            }
            restore_one(&mut output, input, self.behaviour)?;
            may_keep && is_unchanged(input.root(), output.root())
        };
        if !is_kept {
            remove_ids(&mut output)?;
        }
        Ok(Restored {
            output,
            place,
            is_kept,
        })
    }

    fn remove_strange_feet(&self, output: &mut Resource, input: Option<&Resource>) {
        if self.behaviour == Behaviour::Kiln && has_comment_above(output) {
            let feet = self.feet.get_or_init(|| foot_lines(self.inputs));
            remove_strange_feet(output, input, feet);
        }
    }
}

fn remove_ids(resource: &mut Resource) -> Result<(), EditError> {
    resource.remove_annotation(ID)?;
    resource.remove_annotation(LEGACY_ID)?;
    Ok(())
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
    let moved = match behaviour {
        Behaviour::Kiln => {
            remove_repeated_heads(output, input);
            Some(Moved::take(output, input))
        }
        Behaviour::Kpt => None,
    };
    let document = output.document_mut();
    let (before, after) = ((from, input.start()), (&mut *document, start));
    match behaviour {
        Behaviour::Kpt => {
            copy_comments(before, after, Schema::builtin())?;
            sync_order(from.root(), document, start)?;
        }
        // A function may turn a list into a null or a text into a map: the rest is restored all the same.
        Behaviour::Kiln => {
            copy_matching_comments(before, after, Schema::builtin());
            sync_matching_order(from.root(), document, start)?;
            keep_foot(from, document);
        }
    }
    if let Some(moved) = moved {
        moved.put_back(output);
    }
    if origin.is_some() {
        let restored = std::mem::replace(output, Resource::new(Document::new_mapping()));
        *output = restored.with_origin(origin);
    }
    Ok(())
}

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
fn is_unchanged(input: NodeRef<'_>, output: NodeRef<'_>) -> bool {
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
