//! The last step of a model: texts that come from outside lose what is secret, then what is too long, then what is not visible.

use kiln_krm::secrets::SecretMask;

use super::credentials::mask_credentials;
use super::model::ReportModel;
use super::text::cut;
use crate::visible_text::make_visible;

/// What one function may contribute of its standard error.
const MOST_STDERR_BYTES: usize = 256 << 10;

/// What the configuration of one function may take.
const MOST_CONFIG_BYTES: usize = 64 << 10;

/// A value in a list of problems or of changes to review; diffs and results have all of it.
const MOST_VALUE_BYTES: usize = 1 << 10;

pub(super) fn clean(model: &mut ReportModel, secrets: &SecretMask) {
    model.change_texts(&mut |text| {
        secrets.mask_in_place(text);
        mask_credentials(text);
    });
    // A value that was cut before would no longer be found.
    cut_texts(model);
    model.change_texts(&mut make_visible);
}

fn cut_texts(model: &mut ReportModel) {
    for step in &mut model.steps {
        cut(&mut step.stderr, MOST_STDERR_BYTES);
        cut(&mut step.config, MOST_CONFIG_BYTES);
    }
    let hints = model.problems.iter_mut().flat_map(|one| &mut one.hint);
    let notes = model.review.iter_mut();
    let values = notes.flat_map(|note| [&mut note.before, &mut note.after]);
    for value in hints.chain(values) {
        cut(value, MOST_VALUE_BYTES);
    }
}
