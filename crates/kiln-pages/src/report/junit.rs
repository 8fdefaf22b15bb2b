//! JUnit XML: a suite per package, a test case per step.

use std::fmt::Write;

use super::model::{ReportModel, StepReport, StepStatus, Verdict};

pub(super) fn write(model: &ReportModel) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let failed_steps = count_failed(model.steps.iter());
    let own_failure = model.verdict != Verdict::Passed && failed_steps == 0;
    let _ = writeln!(
        out,
        "<testsuites name=\"kiln\" tests=\"{}\" failures=\"{}\" time=\"{}\">",
        model.steps.len() + usize::from(own_failure),
        failed_steps + usize::from(own_failure),
        seconds(model.duration_us)
    );
    for package in model.packages() {
        let steps = || {
            model
                .steps
                .iter()
                .filter(move |step| step.package == package)
        };
        let _ = writeln!(
            out,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" timestamp=\"{}\" time=\"{}\">",
            escape(package),
            steps().count(),
            count_failed(steps()),
            escape(&model.started),
            seconds(steps().map(|step| step.duration_us).sum())
        );
        for step in steps() {
            test_case(&mut out, step);
        }
        out.push_str("  </testsuite>\n");
    }
    if own_failure {
        let _ = writeln!(
            out,
            "  <testsuite name=\"{0}\" tests=\"1\" failures=\"1\">\n    <testcase name=\"{1}\" classname=\"{0}\">",
            escape(&model.package),
            action_name(model),
        );
        let messages: Vec<&str> = model
            .problems
            .iter()
            .map(|one| one.message.as_str())
            .collect();
        failure(&mut out, &model.headline(), &messages.join("\n"));
        out.push_str("    </testcase>\n  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn action_name(model: &ReportModel) -> &'static str {
    match model.verdict {
        Verdict::Differs => "rendered files are up to date",
        _ => "render",
    }
}

fn count_failed<'a>(steps: impl Iterator<Item = &'a StepReport>) -> usize {
    steps
        .filter(|step| step.status == StepStatus::Failed)
        .count()
}

fn test_case(out: &mut String, step: &StepReport) {
    let _ = writeln!(
        out,
        "    <testcase name=\"{}\" classname=\"{}\" time=\"{}\">",
        escape(&step.function),
        escape(&step.package),
        seconds(step.duration_us)
    );
    if step.status == StepStatus::Failed {
        let lines: Vec<String> = step
            .results
            .iter()
            .map(|item| match (item.file.as_str(), item.line) {
                ("", _) => format!("[{}] {}", item.severity, item.message),
                (file, Some(line)) => {
                    format!("[{}] {file}:{line}: {}", item.severity, item.message)
                }
                (file, None) => format!("[{}] {file}: {}", item.severity, item.message),
            })
            .collect();
        let message = format!("exit code {}", step.exit_code);
        let text = match lines.is_empty() {
            true => step.stderr.clone(),
            false => lines.join("\n"),
        };
        failure(out, &message, &text);
    }
    if !step.stderr.is_empty() {
        let _ = writeln!(
            out,
            "      <system-err>{}</system-err>",
            escape(&step.stderr)
        );
    }
    out.push_str("    </testcase>\n");
}

fn failure(out: &mut String, message: &str, text: &str) {
    let _ = writeln!(
        out,
        "      <failure message=\"{}\">{}</failure>",
        escape(message),
        escape(text)
    );
}

fn seconds(us: u64) -> String {
    format!("{}.{:06}", us / 1_000_000, us % 1_000_000)
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
