//! Restoring what a function returned as an edit of the tree that it got, as native functions do.
//!
//! Such a function loses no comments except those of values that it replaced, and changes no order. So it is enough to
//! look at its edits; nothing is compared by text.

use kiln_krm::Resource;
use kiln_yaml::{Document, Edits, Slot};

use crate::stray_annotations::has_marks;

/// What an edited output needs.
pub(crate) enum Edited {
    /// Nothing: it means the same as its input.
    Unchanged,
    /// The output with all comments.
    Changed(Box<Resource>),
}

/// Restores an output that is an edit of its input. It comes back as an error if it is not, or if it has edits that need a
/// comparison of all its nodes.
pub(crate) fn restore_edited(output: Resource, input: &Resource) -> Result<Edited, Box<Resource>> {
    let Some(edits) = plain_edits(output.document(), input.document()) else {
        return Err(Box::new(output));
    };
    if edits.is_empty() {
        return Ok(Edited::Unchanged);
    }
    let mut output = output.as_edit_of(input);
    let document = output.document_mut();
    document.restore_comments(input.document(), &edits.lost_comments);
    Ok(Edited::Changed(Box::new(output)))
}

fn plain_edits(output: &Document, input: &Document) -> Option<Edits> {
    let has_own_comment = [Slot::Head, Slot::Foot]
        .into_iter()
        .any(|slot| !output.comment(slot).is_empty());
    if has_own_comment {
        return None;
    }
    let edits = output.edits_since(input)?;
    let has_marks = edits
        .added
        .iter()
        .flat_map(|added| added.fields(output))
        .any(|(key, value)| has_marks(key, value));
    (!has_marks).then_some(edits)
}
