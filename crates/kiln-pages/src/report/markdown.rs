//! Markdown for the job summary of CI systems: the outcome, problems, steps and changed files.

use std::fmt::Write;

use super::model::{ReportModel, ReportProblem, StepReport, StepStatus, Verdict};
use super::text::shortened;
use crate::parts::{counted, duration_text};

/// A summary is read by people.
const MOST_ROWS: usize = 100;

/// In characters.
const MOST_MESSAGE: usize = 1_000;
const MOST_NAME: usize = 200;

/// Job summaries are limited to 1 MiB.
const MOST_BYTES: usize = 1_000_000;

pub(super) fn write(model: &ReportModel) -> String {
    let mut out = String::new();
    let mark = match model.verdict {
        Verdict::Passed => "✅",
        Verdict::Failed => "❌",
        Verdict::Differs => "⚠️",
    };
    let _ = writeln!(
        out,
        "## {mark} {}: {}\n",
        name(model.package_title()),
        name(&model.headline())
    );
    let lines = model.lines();
    let _ = writeln!(
        out,
        "{} ({} cached), {} changed (+{} −{}), {}, {}, {}.\n",
        counted(model.steps.len(), "function"),
        model.cached(),
        counted(model.files.len(), "file"),
        lines.added,
        lines.removed,
        counted(model.count("error"), "error"),
        counted(model.count("warning"), "warning"),
        duration_text(model.duration_us)
    );
    problems(&mut out, model);
    steps(&mut out, model);
    files(&mut out, model);
    for note in &model.notes {
        let _ = writeln!(out, "_{}_\n", escape(note));
    }
    whole_lines(out)
}

fn problems(out: &mut String, model: &ReportModel) {
    if model.problems.is_empty() {
        return;
    }
    out.push_str("### Problems\n\n");
    for problem in model.problems.iter().take(MOST_ROWS) {
        let place = place(problem).map_or(String::new(), |place| format!("{place}: "));
        let _ = writeln!(
            out,
            "- **{}** {place}{}",
            problem.severity,
            escape(&shortened(&problem.text(), MOST_MESSAGE))
        );
        if let Some(hint) = &problem.hint {
            let _ = writeln!(out, "  - {}", escape(&shortened(hint, MOST_MESSAGE)));
        }
    }
    rest(out, model.problems.len());
    out.push('\n');
}

fn steps(out: &mut String, model: &ReportModel) {
    if model.steps.is_empty() {
        return;
    }
    out.push_str(
        "### Pipeline\n\n| | package | function | changed | time |\n|---|---|---|---:|---:|\n",
    );
    let packages = model.packages();
    let mut rows: Vec<(usize, &str, &StepReport)> = Vec::new();
    for package in &packages {
        let steps = package.steps.iter();
        rows.extend(steps.map(|(index, step)| (*index, package.title.as_str(), *step)));
    }
    rows.sort_by_key(|(index, ..)| *index);
    for (_, package, step) in rows.into_iter().take(MOST_ROWS) {
        let status = match step.status {
            StepStatus::Passed => "passed",
            StepStatus::Failed => "**failed**",
        };
        let _ = writeln!(
            out,
            "| {status} | {} | {} | {} of {} | {} |",
            name(package),
            name(&step.function),
            step.touched.len(),
            step.resources_in,
            duration_text(step.duration_us)
        );
    }
    rest(out, model.steps.len());
    out.push('\n');
}

fn files(out: &mut String, model: &ReportModel) {
    if model.files.is_empty() {
        return;
    }
    out.push_str("### Changed files\n\n| file | added | removed |\n|---|---:|---:|\n");
    for file in model.files.iter().take(MOST_ROWS) {
        let lines = file.lines;
        let path = name(&file.path);
        let _ = writeln!(out, "| {path} | {} | {} |", lines.added, lines.removed);
    }
    rest(out, model.files.len());
    out.push('\n');
}

fn rest(out: &mut String, count: usize) {
    if let Some(more) = count.checked_sub(MOST_ROWS).filter(|more| *more > 0) {
        let _ = writeln!(out, "\n… and {more} more.");
    }
}

/// `file:line` of a problem.
fn place(problem: &ReportProblem) -> Option<String> {
    let file = name(problem.file.as_ref()?);
    Some(match problem.line {
        Some(line) => format!("{file}:{line}"),
        None => file,
    })
}

fn name(text: &str) -> String {
    escape(&shortened(text, MOST_NAME))
}

/// As many lines as a summary may have.
fn whole_lines(mut text: String) -> String {
    if text.len() > MOST_BYTES {
        let bytes = text.bytes().take(MOST_BYTES);
        let end = bytes.enumerate().rfind(|(_, byte)| *byte == b'\n');
        text.truncate(end.map_or(0, |(index, _)| index + 1));
        text.push_str("\n_This summary is not complete, because it would be too large._\n");
    }
    text
}

/// Text without a meaning for Markdown or HTML, on one line. An empty comment keeps addresses and names of users from becoming
/// links, which a backslash does not do.
fn escape(text: &str) -> String {
    const NO_LINK: &str = "<!-- -->";
    let mut out = String::with_capacity(text.len());
    for (index, character) in text.char_indices() {
        match character {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '!' | '~' | '$' => {
                out.push('\\');
                out.push(character);
            }
            '@' | ':' | 'w' | 'W'
                if ["@", "://", "www."]
                    .iter()
                    .any(|link| is_at(text, index, link)) =>
            {
                out.push(character);
                out.push_str(NO_LINK);
            }
            '\n' => out.push(' '),
            character => out.push(character),
        }
    }
    out
}

fn is_at(text: &str, index: usize, part: &str) -> bool {
    let found = text.as_bytes().get(index..index + part.len());
    found.is_some_and(|found| found.eq_ignore_ascii_case(part.as_bytes()))
}
