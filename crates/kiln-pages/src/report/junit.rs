//! JUnit XML: a suite per package, a test case per step.
//!
//! The attributes are those that `junit-10.xsd` of Jenkins requires. GitLab ignores a test case with the name of an earlier one, and
//! shows only the text of a failure.

use std::fmt::Write;

use super::differences::differences;
use super::model::{
    FileReport, ReportAction, ReportModel, ReportProblem, ResultReport, StepReport, StepStatus,
    Verdict,
};
use super::packages::PackageSteps;
use super::text::shortened;

/// The message of a failure is a title.
const MOST_MESSAGE: usize = 200;

/// All diffs of a failure; the other formats have more.
const MOST_DIFF_BYTES: usize = 256 << 10;

struct TestSuite {
    name: String,
    cases: Vec<TestCase>,
}

struct TestCase {
    name: String,
    duration_us: u64,
    outcome: CaseOutcome,
    stderr: String,
}

enum CaseOutcome {
    Passed,
    Skipped,
    Failed { message: String, text: String },
}

pub(super) fn write(model: &ReportModel) -> String {
    let mut suites: Vec<TestSuite> = model
        .packages()
        .iter()
        .map(|package| suite(model, package))
        .collect();
    let mut steps = model.steps.iter();
    if model.verdict != Verdict::Passed && !steps.any(|step| step.status == StepStatus::Failed) {
        suites.push(own_failure(model));
    }
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let sum = |count: fn(&TestSuite) -> usize| suites.iter().map(count).sum::<usize>();
    let _ = writeln!(
        out,
        "<testsuites name=\"kiln\" tests=\"{}\" failures=\"{}\" errors=\"0\" time=\"{}\">",
        sum(|suite| suite.cases.len()),
        sum(TestSuite::failures),
        seconds(model.duration_us)
    );
    for suite in &suites {
        suite.write(&mut out, &model.started);
    }
    out.push_str("</testsuites>\n");
    out
}

fn suite(model: &ReportModel, package: &PackageSteps<'_>) -> TestSuite {
    let steps = package.steps.iter().enumerate();
    let cases = steps.map(|(order, (index, step))| {
        let number = step.position.map_or(order + 1, |position| position.number);
        let name = match step.name.as_str() {
            "" => &step.function,
            name => name,
        };
        TestCase {
            name: format!("{number}. {name}"),
            duration_us: step.duration_us,
            outcome: match step.status {
                StepStatus::Passed => CaseOutcome::Passed,
                StepStatus::Failed => step_failure(model, step, *index),
            },
            stderr: step.stderr.clone(),
        }
    });
    let skipped = package.skipped().map(|number| TestCase {
        name: format!("{number}. (did not run)"),
        duration_us: 0,
        outcome: CaseOutcome::Skipped,
        stderr: String::new(),
    });
    TestSuite {
        name: match package.title.as_str() {
            "" => model.package_title().to_owned(),
            title => title.to_owned(),
        },
        cases: cases.chain(skipped).collect(),
    }
}

/// The problems of a step. One that reported no error printed why it failed.
fn step_failure(model: &ReportModel, step: &StepReport, index: usize) -> CaseOutcome {
    let problems = model.problems.iter();
    let of_step = problems.filter(move |problem| problem.step == Some(index));
    let has_error = step.results.iter().any(|item| item.severity == "error");
    let printed = (!has_error)
        .then_some(step.stderr.as_str())
        .filter(|text| !text.is_empty());
    // The error of the command comes first among the problems, and says less than that of the function.
    let mut results = step.results.iter();
    let reported = results.find(|item| item.severity == "error");
    let lines = of_step.clone().map(problem_text);
    let first = of_step.map(ReportProblem::text).next();
    let title = reported.map(ResultReport::text).or(first);
    match title {
        Some(title) => failed(&title, lines.chain(printed.map(str::to_owned))),
        None => CaseOutcome::Failed {
            message: format!("exit code {}", step.exit_code),
            text: step.stderr.clone(),
        },
    }
}

/// A failure of the command itself, or files that are not up to date.
fn own_failure(model: &ReportModel) -> TestSuite {
    let name = match (model.verdict, model.action) {
        (Verdict::Differs, _) => "rendered files are up to date",
        (_, ReportAction::Eval) => "eval",
        _ => "render",
    };
    let title = match model.problems.first() {
        Some(problem) => problem.text(),
        None => model.headline(),
    };
    let mut lines: Vec<String> = model.problems.iter().map(problem_text).collect();
    lines.extend(differences(model).map(|problem| problem_text(&problem)));
    if lines.is_empty() {
        lines.push(title.clone());
    }
    lines.extend(diffs(model));
    let outcome = failed(&title, lines.into_iter());
    TestSuite {
        name: model.package_title().to_owned(),
        cases: vec![TestCase {
            name: name.to_owned(),
            duration_us: model.duration_us,
            outcome,
            stderr: String::new(),
        }],
    }
}

/// The diffs of the files that are not up to date, as far as a test report shows them.
fn diffs(model: &ReportModel) -> Vec<String> {
    let mut budget = match model.verdict {
        Verdict::Differs => MOST_DIFF_BYTES,
        Verdict::Passed | Verdict::Failed => 0,
    };
    let mut diffs = Vec::new();
    for file in &model.files {
        let FileReport { path, diff, .. } = file;
        let text = format!("\n--- {path}\n+++ {path}\n{}", diff.trim_end());
        if diff.is_empty() || text.len() > budget {
            continue;
        }
        budget -= text.len();
        diffs.push(text);
    }
    diffs
}

fn failed(title: &str, lines: impl Iterator<Item = String>) -> CaseOutcome {
    let title = title.lines().next().unwrap_or_default();
    CaseOutcome::Failed {
        message: shortened(title, MOST_MESSAGE),
        text: lines.collect::<Vec<String>>().join("\n"),
    }
}

/// `[error] file:line: message`, and the hint in its own line.
fn problem_text(problem: &ReportProblem) -> String {
    let mut text = format!("[{}] ", problem.severity);
    if let Some(file) = &problem.file {
        text.push_str(file);
        if let Some(line) = problem.line {
            text.push_str(&format!(":{line}"));
        }
        text.push_str(": ");
    }
    text.push_str(&problem.text());
    if let Some(hint) = &problem.hint {
        text.push_str(&format!("\n  hint: {hint}"));
    }
    text
}

impl TestSuite {
    fn failures(&self) -> usize {
        self.count(|outcome| matches!(outcome, CaseOutcome::Failed { .. }))
    }

    fn count(&self, is_counted: fn(&CaseOutcome) -> bool) -> usize {
        let outcomes = self.cases.iter().map(|case| &case.outcome);
        outcomes.filter(|outcome| is_counted(outcome)).count()
    }

    fn write(&self, out: &mut String, started: &str) {
        let name = escape(&self.name);
        let _ = writeln!(
            out,
            "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" timestamp=\"{}\" time=\"{}\">",
            self.cases.len(),
            self.failures(),
            self.count(|outcome| matches!(outcome, CaseOutcome::Skipped)),
            escape(started),
            seconds(self.cases.iter().map(|case| case.duration_us).sum())
        );
        for case in &self.cases {
            case.write(out, &name);
        }
        out.push_str("  </testsuite>\n");
    }
}

impl TestCase {
    fn write(&self, out: &mut String, class: &str) {
        let _ = writeln!(
            out,
            "    <testcase name=\"{}\" classname=\"{class}\" time=\"{}\">",
            escape(&self.name),
            seconds(self.duration_us)
        );
        match &self.outcome {
            CaseOutcome::Passed => {}
            CaseOutcome::Skipped => {
                out.push_str("      <skipped message=\"an earlier step failed\"></skipped>\n");
            }
            CaseOutcome::Failed { message, text } => {
                let (message, text) = (escape(message), escape(text));
                let _ = writeln!(out, "      <failure message=\"{message}\">{text}</failure>");
            }
        }
        if !self.stderr.is_empty() {
            let stderr = escape(&self.stderr);
            let _ = writeln!(out, "      <system-err>{stderr}</system-err>");
        }
        out.push_str("    </testcase>\n");
    }
}

/// With three decimals: the schema accepts no more.
fn seconds(us: u64) -> String {
    let ms = us.saturating_add(500) / 1_000;
    format!("{}.{:03}", ms / 1_000, ms % 1_000)
}

/// Text for XML. A model has no characters that XML cannot represent.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            character => out.push(character),
        }
    }
    out
}
