//! Keeps the page at a size that browsers open. It contains the data of the report twice: as text, and as JSON.

use super::super::model::{ReportModel, StepReport};
use super::super::text::cut;

/// The largest page, in bytes.
pub(super) const MOST_PAGE_BYTES: usize = 20 << 20;

/// How much of a model is left.
#[derive(Clone, Copy)]
struct Kept {
    /// All diffs together, in bytes.
    diffs: usize,
    /// The standard error of each step, in bytes.
    stderr: usize,
    /// The results of each step, and the problems of all.
    results: usize,
    /// Resources and files.
    rows: usize,
    steps: usize,
}

/// Each one leaves less than the one before.
const ROUNDS: [Kept; 4] = [
    Kept {
        diffs: 5 << 20,
        stderr: 64 << 10,
        results: 10_000,
        rows: 20_000,
        steps: 5_000,
    },
    Kept {
        diffs: 1 << 20,
        stderr: 8 << 10,
        results: 1_000,
        rows: 5_000,
        steps: 1_000,
    },
    Kept {
        diffs: 0,
        stderr: 1 << 10,
        results: 100,
        rows: 1_000,
        steps: 500,
    },
    Kept {
        diffs: 0,
        stderr: 0,
        results: 1,
        rows: 100,
        steps: 100,
    },
];

/// The models to try after a page that is too large.
pub(super) fn smaller(model: &ReportModel) -> impl Iterator<Item = ReportModel> + '_ {
    ROUNDS.into_iter().map(|kept| reduced(model, kept))
}

fn reduced(model: &ReportModel, kept: Kept) -> ReportModel {
    let mut model = model.clone();
    let mut budget = kept.diffs;
    for file in &mut model.files {
        if file.diff.len() > budget {
            file.diff.clear();
        }
        budget -= file.diff.len();
    }
    model.files.truncate(kept.rows);
    model.resources.truncate(kept.rows);
    model.steps.truncate(kept.steps);
    let steps = model.steps.len();
    for resource in &mut model.resources {
        resource.steps.retain(|step| *step < steps);
    }
    for step in &mut model.steps {
        reduce_step(step, kept);
    }
    model.problems.truncate(kept.results);
    for problem in &mut model.problems {
        problem.step = problem.step.filter(|step| *step < steps);
        cut(&mut problem.message, kept.stderr.max(1 << 10));
    }
    model.notes.push(
        "This page is not complete, because it would be too large. `--report-data FILE.json` writes everything."
            .to_owned(),
    );
    model
}

fn reduce_step(step: &mut StepReport, kept: Kept) {
    cut(&mut step.stderr, kept.stderr);
    cut(&mut step.config, kept.stderr);
    step.results.truncate(kept.results);
    for result in &mut step.results {
        let values = [&mut result.current_value, &mut result.proposed_value];
        for text in values.into_iter().chain([&mut result.message]) {
            cut(text, kept.stderr.max(1 << 10));
        }
    }
    step.touched.retain(|resource| *resource < kept.rows);
}
