//! Restoring the comments and the field order of a function's input in its output.
//!
//! Input and output are matched by the id annotation that each input gets. Each pair is walked once.

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

use crate::edited::{Edited, restore_edited};
use crate::foot_comments::{
    MovedComments, foot_lines, has_comment_above, keep_foot, remove_foreign_feet,
    remove_repeated_heads,
};
use crate::lost_anchors::restore_anchors;
use crate::options::RenderCompat;
use crate::stray_annotations::GivenAnnotations;

/// Why comments or order cannot be restored.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RestoreError {
    /// A tree has an unexpected shape.
    #[error(transparent)]
    Edit(#[from] EditError),
    #[error(transparent)]
    Order(#[from] SyncOrderError),
}

/// A resource that a function returned.
pub(crate) enum Returned {
    /// New or changed.
    New(Box<Resource>),
    /// The input with this index, unchanged.
    Kept(usize),
}

impl Returned {
    pub(crate) fn root<'a>(&'a self, inputs: &'a [Resource]) -> Option<NodeRef<'a>> {
        match self {
            Returned::New(resource) => Some(resource.root()),
            Returned::Kept(index) => inputs.get(*index).map(Resource::root),
        }
    }

    pub(crate) fn resource_mut<'a>(
        &'a mut self,
        inputs: &'a mut [Resource],
    ) -> Option<&'a mut Resource> {
        match self {
            Returned::New(resource) => Some(resource),
            Returned::Kept(index) => inputs.get_mut(*index),
        }
    }
}

/// Gives each input its id annotations.
pub(crate) fn set_ids(inputs: &mut [Resource]) -> Result<(), EditError> {
    for (index, resource) in inputs.iter_mut().enumerate() {
        let id = (index + 1).to_string();
        resource.set_annotation(ID, &id)?;
        resource.set_annotation(LEGACY_ID, &id)?;
    }
    Ok(())
}

/// Restores comments and order in the outputs of a function. An unchanged output is replaced by its input.
pub fn restore_list(
    outputs: Vec<Resource>,
    mut inputs: Vec<Resource>,
    threads: NonZeroUsize,
) -> Result<Vec<Resource>, RestoreError> {
    let returned = restore(outputs, &mut inputs, RenderCompat::Kiln, threads)?;
    Ok(materialize(returned, &mut inputs))
}

/// The returned resources. Unchanged inputs are moved out of `inputs`.
pub(crate) fn materialize(returned: Vec<Returned>, inputs: &mut Vec<Resource>) -> Vec<Resource> {
    let mut slots: Vec<Option<Resource>> = std::mem::take(inputs).into_iter().map(Some).collect();
    let mut outputs = Vec::with_capacity(returned.len());
    for item in returned {
        match item {
            Returned::New(resource) => outputs.push(*resource),
            Returned::Kept(index) => outputs.extend(slots.get_mut(index).and_then(Option::take)),
        }
    }
    inputs.extend(slots.into_iter().flatten());
    outputs
}

/// Restores comments and order, and finds unchanged outputs.
pub(crate) fn restore(
    outputs: Vec<Resource>,
    inputs: &mut [Resource],
    compat: RenderCompat,
    threads: NonZeroUsize,
) -> Result<Vec<Returned>, RestoreError> {
    let outputs: Vec<(Resource, Option<usize>)> = outputs
        .into_iter()
        .map(|output| {
            let [id, legacy_id] = meta::several_annotations(output.root(), [ID, LEGACY_ID]);
            let index = id.or(legacy_id).and_then(index_of);
            (output, index.filter(|index| *index < inputs.len()))
        })
        .collect();
    let restorer = Restorer {
        inputs,
        compat,
        feet: OnceLock::new(),
        annotations: GivenAnnotations::default(),
    };
    let mut seen = HashSet::new();
    let is_repeated =
        |(_, index): &(Resource, Option<usize>)| index.is_some_and(|index| !seen.insert(index));
    let restored = if outputs.iter().any(is_repeated) {
        // Only one output with the same id can be the input, and which one depends on those before it.
        let mut kept = HashSet::new();
        let mut restored = Vec::with_capacity(outputs.len());
        for (output, index) in outputs {
            let one = restorer.one(output, index, !kept.contains(&index))?;
            kept.extend(matches!(one, Returned::Kept(_)).then_some(index));
            restored.push(one);
        }
        restored
    } else {
        try_map(outputs, threads, Worth::Resources, |(output, index)| {
            restorer.one(output, index, true)
        })?
    };
    for one in &restored {
        if let Returned::Kept(index) = one
            && let Some(input) = inputs.get_mut(*index)
        {
            remove_ids(input)?;
        }
    }
    Ok(restored)
}

/// All inputs, unchanged.
pub(crate) fn keep_all(inputs: &mut [Resource]) -> Result<Vec<Returned>, RestoreError> {
    inputs.iter_mut().try_for_each(remove_ids)?;
    Ok((0..inputs.len()).map(Returned::Kept).collect())
}

/// What is needed to restore one output.
struct Restorer<'a> {
    inputs: &'a [Resource],
    compat: RenderCompat,
    /// The lines of all foot comments of inputs, computed on first use.
    feet: OnceLock<HashSet<String>>,
    annotations: GivenAnnotations,
}

impl Restorer<'_> {
    fn one(
        &self,
        mut output: Resource,
        index: Option<usize>,
        may_keep: bool,
    ) -> Result<Returned, RestoreError> {
        let input = index.and_then(|index| Some((index, self.inputs.get(index)?)));
        let Some((index, input)) = input else {
            self.remove_foreign_feet(&mut output, None);
            if self.compat == RenderCompat::Kiln {
                self.annotations.remove_strays(&mut output, self.inputs);
                // kpt writes an id that it did not assign into the file. Removing fails only without annotations.
                let _ = remove_ids(&mut output);
            }
            return Ok(Returned::New(Box::new(output)));
        };
        let may_keep = may_keep && self.compat == RenderCompat::Kiln;
        if may_keep {
            output = match restore_edited(output, input) {
                Ok(Edited::Unchanged) => return Ok(Returned::Kept(index)),
                Ok(Edited::Changed(mut output)) => {
                    restore_anchors(output.document_mut(), input.document());
                    remove_ids(&mut output)?;
                    return Ok(Returned::New(output));
                }
                Err(output) => *output,
            };
            // An unchanged output needs nothing restored.
            if is_unchanged(input.root(), output.root()) {
                return Ok(Returned::Kept(index));
            }
        }
        self.remove_foreign_feet(&mut output, Some(input));
        if self.compat == RenderCompat::Kiln {
            self.annotations.remove_strays(&mut output, self.inputs);
        }
        restore_one(&mut output, input, self.compat)?;
        if may_keep && is_unchanged(input.root(), output.root()) {
            return Ok(Returned::Kept(index));
        }
        if self.compat == RenderCompat::Kiln {
            restore_anchors(output.document_mut(), input.document());
        }
        remove_ids(&mut output)?;
        Ok(Returned::New(Box::new(output)))
    }

    fn remove_foreign_feet(&self, output: &mut Resource, input: Option<&Resource>) {
        if self.compat == RenderCompat::Kiln && has_comment_above(output) {
            let feet = self.feet.get_or_init(|| foot_lines(self.inputs));
            remove_foreign_feet(output, input, feet);
        }
    }
}

fn remove_ids(resource: &mut Resource) -> Result<(), EditError> {
    resource.remove_annotations(&[ID, LEGACY_ID])
}

/// The index of the input with this id. Ids that are written differently than assigned do not count.
fn index_of(id: &str) -> Option<usize> {
    let number: usize = id.parse().ok()?;
    (number.to_string() == id)
        .then(|| number.checked_sub(1))
        .flatten()
}

fn restore_one(
    output: &mut Resource,
    input: &Resource,
    compat: RenderCompat,
) -> Result<(), RestoreError> {
    let origin = input.origin().cloned();
    let from = input.document();
    let start = output.start();
    let moved = match compat {
        RenderCompat::Kiln => {
            remove_repeated_heads(output, input);
            Some(MovedComments::take(output, input))
        }
        RenderCompat::Kpt => None,
    };
    let document = output.document_mut();
    let (before, after) = ((from, input.start()), (&mut *document, start));
    match compat {
        RenderCompat::Kpt => {
            copy_comments(before, after, Schema::builtin())?;
            sync_order(from.root(), document, start)?;
        }
        // A function may turn a list into a null or a text into a map; the rest is still restored.
        RenderCompat::Kiln => {
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

/// Plain equality, but empty texts are not compared: they point nowhere, and the vector instructions of some C libraries
/// take longer on such a pointer than to compare a kilobyte.
fn is_same_text(a: &str, b: &str) -> bool {
    a.len() == b.len() && (a.is_empty() || a == b)
}

/// Whether each line of a comment is at the same node of the input, or at its document: an item of a list has the
/// document's comments at its nodes.
fn adds_nothing(input: NodeRef<'_>, output: NodeRef<'_>, slot: Slot) -> bool {
    let (before, after) = (input.comment(slot), output.comment(slot));
    is_same_text(before, after)
        || after.lines().filter(|line| !line.is_empty()).all(|line| {
            let document = Slot::ALL.map(|slot| input.document().comment(slot));
            let mut known = before
                .lines()
                .chain(document.into_iter().flat_map(str::lines));
            known.any(|known| known == line)
        })
}

/// Whether two nodes have the same text, or are both null: `~`, `null` and nothing are one value.
fn has_same_text(input: NodeRef<'_>, output: NodeRef<'_>) -> bool {
    is_same_text(input.value(), output.value())
        || input.is_scalar() && input.tag() == "!!null" && output.tag() == "!!null"
}

/// Whether the output has the values of the input in the same order and adds no comment. Styles do not count.
fn is_unchanged(input: NodeRef<'_>, output: NodeRef<'_>) -> bool {
    let mut pending = vec![(input, output)];
    while let Some((input, output)) = pending.pop() {
        let is_same_node = input.kind() == output.kind()
            && has_same_text(input, output)
            && is_same_text(input.tag(), output.tag())
            // An anchor that is gone had no aliases: they would differ.
            && (output.anchor().is_empty() || is_same_text(input.anchor(), output.anchor()))
            && Slot::ALL
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
