//! The numbers of a whole report. A page that leaves out rows shows them too.

use super::model::{LineCounts, ReportModel};

pub(super) struct Totals {
    /// One sentence about the outcome.
    pub(super) headline: String,
    pub(super) functions: usize,
    pub(super) cached: usize,
    pub(super) packages: usize,
    pub(super) resources: usize,
    pub(super) files: usize,
    pub(super) lines: LineCounts,
    pub(super) errors: usize,
    pub(super) warnings: usize,
    pub(super) problems: usize,
    pub(super) review: usize,
    pub(super) phases: usize,
    /// The steps that printed or reported something.
    pub(super) messages: usize,
}

impl Totals {
    pub(super) fn of(model: &ReportModel) -> Totals {
        let steps = model.steps.iter();
        Totals {
            headline: model.headline(),
            functions: model.steps.len(),
            cached: model.cached(),
            packages: model.packages().len(),
            resources: model.resources.len(),
            files: model.files.len(),
            lines: model.lines(),
            errors: model.count("error"),
            warnings: model.count("warning"),
            problems: model.problems.len(),
            review: model.review.len(),
            phases: model.phases.len(),
            messages: steps.filter(|step| step.has_messages()).count(),
        }
    }
}
