//! Comparison byte by byte, as in kpt's own runner.
//!
//! The streams of cases recorded with their command line are complete, and must be equal; kpt's own
//! cases list only a part of the output.

use anyhow::{Context, Result};
use regex::Regex;

use super::case::Case;
use super::case_environment::CaseEnvironment;
use super::judge::{About, Problem};
use super::process::Outcome;

/// Problems of the exit code.
pub(super) fn ending(case: &Case, outcome: &Outcome) -> Vec<Problem> {
    let problem = match outcome.code {
        None => "took too long and was killed".to_owned(),
        Some(code) if code == case.config.exit_code => return Vec::new(),
        Some(code) => format!(
            "exit code {code}, wanted {}; stderr:\n{}",
            case.config.exit_code, outcome.stderr
        ),
    };
    vec![Problem::plain(About::ExitCode, problem)]
}

/// Problems of the written results.
pub(super) fn results(case: &Case, environment: &CaseEnvironment) -> Result<Vec<Problem>> {
    let mut problems = Vec::new();
    if let Some(wanted) = case.expected("results.yaml") {
        let got = environment.results()?.unwrap_or_default();
        let got = without_lines(got.trim(), &case.config.results_strip_lines);
        if got != wanted {
            problems.push(Problem::text(About::Results, "results.yaml", &wanted, &got));
        }
    }
    Ok(problems)
}

/// Problems of the output.
pub(super) fn streams(
    case: &Case,
    environment: &CaseEnvironment,
    outcome: &Outcome,
) -> Result<Vec<Problem>> {
    let config = &case.config;
    let mut problems = Vec::new();
    let is_whole = case.is_recorded_whole();
    let mut check = |about: About, wanted: Option<&str>, got: &str| {
        let wanted = wanted.unwrap_or_default();
        // A recording may end where a duration follows.
        let is_right = match is_whole && !wanted.ends_with(" in ") {
            true => got == wanted,
            false => got.contains(wanted),
        };
        if !is_right {
            problems.push(Problem::text(about, &about.to_string(), wanted, got));
        }
    };
    let stderr = without_durations(&environment.without_directory(&outcome.stderr))?;
    let stderr = without_lines(&stderr, &config.stderr_strip_lines);
    let wanted = config
        .stderr
        .as_deref()
        .map(without_durations)
        .transpose()?;
    check(About::Stderr, wanted.as_deref(), &stderr);
    check(About::Stdout, config.stdout.as_deref(), &outcome.stdout);
    if let Some(pattern) = &config.stderr_regex {
        let regex = Regex::new(pattern).context("stdErrRegEx")?;
        if !regex.is_match(&stderr) {
            let sentence = format!("stderr does not match {pattern:?}:\n{stderr}");
            problems.push(Problem::plain(About::Stderr, sentence));
        }
    }
    Ok(problems)
}

/// Problems of the files of the copy.
pub(super) fn files(case: &Case, environment: &CaseEnvironment) -> Result<Vec<Problem>> {
    let (mut wanted, got) = (
        case.expected("diff.patch").unwrap_or_default(),
        environment.diff()?,
    );
    let mut got = got.trim().to_owned();
    if let Some(pattern) = &case.config.diff_strip_regex {
        let regex = Regex::new(pattern).context("diffStripRegEx")?;
        wanted = without_directorys(&wanted, &regex)?;
        got = without_directorys(&got, &regex)?;
    }
    Ok(match wanted == got {
        true => Vec::new(),
        false => vec![Problem::text(About::Files, "git diff", &wanted, &got)],
    })
}

/// Run times of functions vary.
fn without_durations(text: &str) -> Result<String> {
    let line = Regex::new(r#"(?m)^(\[(?:PASS|FAIL)\] ".*" in )[0-9][0-9a-zµ.]*$"#)?;
    Ok(line.replace_all(text, "${1}0s").into_owned())
}

pub(super) fn without_lines(text: &str, lines: &[String]) -> String {
    let mut text = text.to_owned();
    for line in lines {
        text = text.replace(&format!("{line}\n"), "");
    }
    text
}

/// A diff without the lines that depend on the machine, and without counts of lines and bytes.
fn without_directorys(diff: &str, dropped: &Regex) -> Result<String> {
    let index = Regex::new(r"^index [0-9a-f]+\.\.[0-9a-f]+")?;
    let hunk = Regex::new(r"^@@ -\d+,\d+ \+\d+,\d+ @@")?;
    let lines = diff.split('\n').filter(|line| !dropped.is_match(line));
    let lines: Vec<String> = lines
        .map(|line| {
            let line = index.replace(line, "index");
            hunk.replace(&line, "@@").into_owned()
        })
        .collect();
    Ok(lines.join("\n"))
}
