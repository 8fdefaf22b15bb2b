//! What `--check` found, as problems: one for each file that rendering would change.

use std::borrow::Cow;

use super::model::{FileReport, ReportModel, ReportProblem, Verdict};

/// What formats with places show: the problems, and each file that rendering would change instead of the sentence that counts them.
pub(super) fn placed_problems(model: &ReportModel) -> Vec<Cow<'_, ReportProblem>> {
    let problems = model.problems.iter().map(Cow::Borrowed);
    let differences: Vec<ReportProblem> = differences(model).collect();
    if differences.is_empty() {
        return problems.collect();
    }
    let is_summary = |one: &ReportProblem| one.step.is_none() && one.file.is_none();
    problems
        .filter(|problem| !is_summary(problem))
        .chain(differences.into_iter().map(Cow::Owned))
        .collect()
}

/// The problems; none of a run that wrote the files or failed.
pub(super) fn differences(model: &ReportModel) -> impl Iterator<Item = ReportProblem> {
    let files = match model.verdict {
        Verdict::Differs => model.files.as_slice(),
        Verdict::Passed | Verdict::Failed => &[],
    };
    files.iter().map(difference)
}

fn difference(file: &FileReport) -> ReportProblem {
    ReportProblem {
        severity: "error".to_owned(),
        message: "rendering would change this file".to_owned(),
        file: Some(file.path.clone()),
        line: Some(first_changed_line(&file.diff).unwrap_or(1)),
        ..ReportProblem::default()
    }
}

/// The line of the old file at which a diff begins to change it.
fn first_changed_line(diff: &str) -> Option<usize> {
    let mut lines = diff.lines().skip_while(|line| !line.starts_with("@@ -"));
    let header = lines.next()?.strip_prefix("@@ -")?;
    let start = header.split([',', ' ']).next()?.parse::<usize>().ok()?;
    let kept = lines.take_while(|line| line.starts_with(' ')).count();
    Some((start + kept).max(1))
}
