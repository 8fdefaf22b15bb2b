//! Comparison to the byte, as kpt's own runner does it.
//!
//! The streams of cases that were recorded with their command line were recorded whole, and must be equal; kpt's own
//! cases list only a part of what is printed.

use anyhow::{Context, Result};
use regex::Regex;

use super::case::Case;
use super::judge::Problem;
use super::process::Outcome;
use super::world::World;

/// A file that only cases of our own recording have.
const ABOUT: &str = "about.txt";

/// What is wrong with how the command ended, and with the results it wrote.
pub(super) fn ending(case: &Case, world: &World, outcome: &Outcome) -> Result<Vec<Problem>> {
    let mut problems = Vec::new();
    match outcome.code {
        None => problems.push(Problem::Plain("took too long and was killed".to_owned())),
        Some(code) if code != case.config.exit_code => problems.push(Problem::Plain(format!(
            "exit code {code}, wanted {}; stderr:\n{}",
            case.config.exit_code, outcome.stderr
        ))),
        Some(_) => {}
    }
    if let Some(wanted) = case.expected("results.yaml") {
        let got = world.results()?.unwrap_or_default();
        let got = without_lines(got.trim(), &case.config.results_strip_lines);
        if got != wanted {
            problems.push(Problem::text("results.yaml", &wanted, &got));
        }
    }
    Ok(problems)
}

/// What is wrong with what was printed.
pub(super) fn streams(case: &Case, world: &World, outcome: &Outcome) -> Result<Vec<Problem>> {
    let config = &case.config;
    let mut problems = Vec::new();
    let is_whole = case.commands.run.is_some() && case.expected(ABOUT).is_some();
    let mut check = |what, wanted: Option<&str>, got: &str| {
        let wanted = wanted.unwrap_or_default();
        // A recording may have been cut off where a duration follows.
        let is_right = match is_whole && !wanted.ends_with(" in ") {
            true => got == wanted,
            false => got.contains(wanted),
        };
        if !is_right {
            problems.push(Problem::text(what, wanted, got));
        }
    };
    let stderr = without_durations(&world.without_place(&outcome.stderr))?;
    let stderr = without_lines(&stderr, &config.stderr_strip_lines);
    let wanted = config
        .stderr
        .as_deref()
        .map(without_durations)
        .transpose()?;
    check("stderr", wanted.as_deref(), &stderr);
    check("stdout", config.stdout.as_deref(), &outcome.stdout);
    if let Some(pattern) = &config.stderr_regex {
        let regex = Regex::new(pattern).context("stdErrRegEx")?;
        if !regex.is_match(&stderr) {
            problems.push(Problem::Plain(format!(
                "stderr does not match {pattern:?}:\n{stderr}"
            )));
        }
    }
    Ok(problems)
}

/// What is wrong with the files of the copy.
pub(super) fn files(case: &Case, world: &World) -> Result<Vec<Problem>> {
    let (mut wanted, got) = (
        case.expected("diff.patch").unwrap_or_default(),
        world.diff()?,
    );
    let mut got = got.trim().to_owned();
    if let Some(pattern) = &case.config.diff_strip_regex {
        let regex = Regex::new(pattern).context("diffStripRegEx")?;
        wanted = without_places(&wanted, &regex)?;
        got = without_places(&got, &regex)?;
    }
    Ok(match wanted == got {
        true => Vec::new(),
        false => vec![Problem::text("git diff", &wanted, &got)],
    })
}

/// Times that functions took are nobody's to foresee.
fn without_durations(text: &str) -> Result<String> {
    let line = Regex::new(r#"(?m)^(\[(?:PASS|FAIL)\] ".*" in )[0-9][0-9a-zµ.]*$"#)?;
    Ok(line.replace_all(text, "${1}0s").into_owned())
}

fn without_lines(text: &str, lines: &[String]) -> String {
    let mut text = text.to_owned();
    for line in lines {
        text = text.replace(&format!("{line}\n"), "");
    }
    text
}

/// A diff without the lines that depend on the machine, and without what counts lines and bytes.
fn without_places(diff: &str, dropped: &Regex) -> Result<String> {
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
