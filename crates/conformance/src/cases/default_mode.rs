//! The requirements in kiln's own mode: the same resources as the original's, the same exit code, and files that
//! change in no more lines than the original changes.
//!
//! Messages are not compared: kiln has its own. It has codes for an invalid command line and for differences where kpt has
//! only 1, and writes no status if no function ran.

use anyhow::{Context, Result};
use kiln_krm::kptfile::{FILE_NAME, Kptfile};
use regex::Regex;
use serde_json::Value;

use super::case::Case;
use super::case_environment::CaseEnvironment;
use super::compare::without_lines;
use super::judge::{About, Problem};
use super::process::Outcome;
use super::values;

/// kiln's exit codes for an invalid command line and for differences.
const OWN_CODES: &[i32] = &[2, 3];

/// The outcome with kpt's exit code.
pub(super) fn with_code_of_kpt(outcome: Outcome) -> Outcome {
    match outcome.code {
        Some(code) if OWN_CODES.contains(&code) => Outcome {
            code: Some(1),
            ..outcome
        },
        _ => outcome,
    }
}

/// Problems other than the exit code.
pub(super) fn compare(
    case: &Case,
    environment: &CaseEnvironment,
    outcome: &Outcome,
) -> Result<Vec<Problem>> {
    let mut problems = Vec::new();
    let mut check = |about: About, wanted: &str, got: &str| {
        if !values::are_same(wanted, got) {
            problems.push(Problem::text(about, &about.to_string(), wanted, got));
        }
    };
    let wanted = case.config.stdout.as_deref().unwrap_or_default();
    let got = &outcome.stdout;
    // kpt's own cases list only a part of the output.
    if case.is_recorded_whole() || !got.contains(wanted) {
        check(About::Stdout, wanted, got);
    }
    if let Some(wanted) = case.expected("results.yaml") {
        let got = environment.results()?.unwrap_or_default();
        let got = without_lines(&got, &case.config.results_strip_lines);
        check(About::Results, &wanted, &without_identities(&got));
    }
    let dropped = case.config.diff_strip_regex.as_deref();
    let dropped = dropped
        .map(Regex::new)
        .transpose()
        .context("diffStripRegEx")?;
    let is_same = |path: &str, wanted: &str, got: &str| match &dropped {
        Some(dropped) => is_same_file(path, &without(wanted, dropped), &without(got, dropped)),
        None => is_same_file(path, wanted, got),
    };
    problems.extend(values::files(case, environment, is_same)?);
    let patch = case.expected("diff.patch").unwrap_or_default();
    let (wanted, got) = (changed_lines(&patch), changed_lines(&environment.diff()?));
    if got > wanted {
        let sentence = format!("{got} lines changed, the original changes {wanted}");
        problems.push(Problem::text(
            About::Lines,
            &sentence,
            &patch,
            &environment.diff()?,
        ));
    }
    Ok(problems)
}

/// Results without the identities of functions, which kiln adds.
fn without_identities(results: &str) -> String {
    let lines = results.lines().filter(|line| !is_identity(line));
    lines.map(|line| format!("{line}\n")).collect()
}

fn is_identity(line: &str) -> bool {
    line.trim_start().starts_with("identity: ")
}

/// Whether two files have the same values. A Kptfile is compared by its decoded form, because the original rewrites it;
/// in JSON, numbers are compared by value.
fn is_same_file(path: &str, wanted: &str, got: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    if name == FILE_NAME
        && let (Ok(wanted), Ok(got)) = (
            Kptfile::read(wanted.as_bytes()),
            Kptfile::read(got.as_bytes()),
        )
    {
        let without_status = Kptfile {
            status: None,
            ..wanted.clone()
        };
        return wanted == got || (has_failed(&wanted) && without_status == got);
    }
    if name.ends_with(".json")
        && let (Ok(wanted), Ok(got)) = (serde_json::from_str(wanted), serde_json::from_str(got))
    {
        return is_same_json(&wanted, &got);
    }
    match name {
        "results.yaml" => values::are_same(wanted, &without_identities(got)),
        _ => values::are_same(wanted, got),
    }
}

/// The cases are small, so this may recurse.
fn is_same_json(wanted: &Value, got: &Value) -> bool {
    match (wanted, got) {
        (Value::Number(wanted), Value::Number(got)) => wanted.as_f64() == got.as_f64(),
        (Value::Array(wanted), Value::Array(got)) => {
            let mut pairs = wanted.iter().zip(got);
            wanted.len() == got.len() && pairs.all(|(wanted, got)| is_same_json(wanted, got))
        }
        (Value::Object(wanted), Value::Object(got)) => {
            let is_there = |(key, wanted): (&String, &Value)| {
                got.get(key).is_some_and(|got| is_same_json(wanted, got))
            };
            wanted.len() == got.len() && wanted.iter().all(is_there)
        }
        (wanted, got) => wanted == got,
    }
}

/// A file without the lines that depend on the machine, which are passed as lines of a diff.
fn without(text: &str, dropped: &Regex) -> String {
    let lines = text.lines();
    let kept = lines.filter(|line| !dropped.is_match(&format!("+{line}")));
    kept.fold(String::new(), |text, line| text + line + "\n")
}

/// The number of lines that a diff adds and removes.
fn changed_lines(diff: &str) -> usize {
    let mut is_in_hunk = false;
    let mut count = 0;
    for line in diff.lines() {
        if line.strip_prefix('+').is_some_and(is_identity) {
            continue;
        }
        match line.as_bytes().first() {
            Some(b'@') => is_in_hunk = true,
            Some(b'd') => is_in_hunk = false,
            Some(b'+' | b'-') if is_in_hunk => count += 1,
            _ => {}
        }
    }
    count
}

/// Whether the status reports a render that failed.
fn has_failed(kptfile: &Kptfile) -> bool {
    let conditions = kptfile.status.iter().flat_map(|status| &status.conditions);
    let mut rendered = conditions.filter(|condition| condition.kind == "Rendered");
    rendered.any(|condition| condition.status == "False")
}

#[cfg(test)]
mod tests {
    use super::{changed_lines, is_same_file};

    #[test]
    fn files_are_compared_by_what_they_mean() {
        assert!(is_same_file(
            "a.json",
            r#"{"a": [1.0, 1e3]}"#,
            r#"{"a":[1,1000]}"#
        ));
        assert!(!is_same_file(
            "a.json",
            r#"{"a": [1, 2]}"#,
            r#"{"a":[2, 1]}"#
        ));
        assert!(!is_same_file("a.yaml", "a: 1.0\n", "a: 1\n"));
        let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: a}\n";
        let with_nothing = format!("{kptfile}pipeline:\n");
        assert!(is_same_file("sub/Kptfile", kptfile, &with_nothing));
        assert!(!is_same_file(
            "sub/Kptfile",
            kptfile,
            &kptfile.replace("a}", "b}")
        ));
        assert!(!is_same_file("a.yaml", kptfile, &with_nothing));
    }

    #[test]
    fn names_of_files_are_no_lines() {
        let diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n--- b\n+c\n\
                    diff --git a/y b/y\n--- a/y\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n";
        assert_eq!(changed_lines(diff), 3);
        assert_eq!(changed_lines(""), 0);
    }
}
