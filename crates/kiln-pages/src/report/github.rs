//! Problems as workflow commands, which GitHub shows beside the lines of a change.

use std::fmt::Write;

use super::differences::differences;
use super::model::{ReportModel, ReportProblem};
use super::text::shortened;

/// GitHub shows ten annotations of each kind for a step and drops the rest, so more would only fill the log.
const MOST_ANNOTATIONS: usize = 50;

/// The title is one line.
const MOST_TITLE: usize = 200;

/// GitHub cuts a message at 4 KiB.
const MOST_MESSAGE: usize = 4_000;

/// One line per problem, and per file that `--check` would change.
pub fn annotations(model: &ReportModel) -> String {
    let mut out = String::new();
    let differences: Vec<ReportProblem> = differences(model).collect();
    let problems = model.problems.iter().chain(&differences);
    for problem in problems.take(MOST_ANNOTATIONS) {
        let step = problem.step.and_then(|step| model.steps.get(step));
        let title = step.map_or("kiln", |step| &step.function);
        let _ = writeln!(
            out,
            "{}",
            annotation(problem, title, |file| model.place(file))
        );
    }
    out
}

/// A problem as a workflow command. `place` is the path of a file of the package, as the workflow looks for it.
fn annotation(problem: &ReportProblem, title: &str, place: impl Fn(&str) -> String) -> String {
    let command = match problem.severity.as_str() {
        "error" => "error",
        _ => "warning",
    };
    let mut properties = Vec::new();
    if let Some(file) = &problem.file {
        properties.push(format!("file={}", property(&place(file))));
    }
    for (name, number) in [("line", problem.line), ("col", problem.column)] {
        properties.extend(number.map(|number| format!("{name}={number}")));
    }
    properties.push(format!("title={}", property(&shortened(title, MOST_TITLE))));
    let message = data(&shortened(&problem.text_and_hint(), MOST_MESSAGE));
    format!("::{command} {}::{message}", properties.join(","))
}

/// The path of a file of the package in `directory`.
pub(super) fn in_directory(directory: &str, file: &str) -> String {
    match directory.trim_end_matches('/') {
        "" | "." => file.to_owned(),
        _ if file.starts_with('/') => file.to_owned(),
        directory => format!("{}/{file}", directory.trim_start_matches("./")),
    }
}

fn data(text: &str) -> String {
    let text = text.replace('%', "%25");
    text.replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
