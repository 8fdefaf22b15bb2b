//! The code quality report of GitLab: an issue per problem, and per file that `--check` would change.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::differences::placed_problems;
use super::format::json_text;
use super::model::{ReportModel, ReportProblem};
use super::sarif::rule_of;

/// The file of a problem that belongs to no other: every issue must have one.
const PACKAGE_FILE: &str = "Kptfile";

pub(super) fn write(model: &ReportModel) -> String {
    let problems = placed_problems(model);
    let mut seen = BTreeMap::new();
    let issues = problems
        .iter()
        .map(|problem| of_problem(model, problem).json(model, &mut seen));
    json_text(&issues.collect::<Vec<Value>>())
}

struct Issue<'a> {
    rule: &'a str,
    message: String,
    severity: &'static str,
    /// Relative to the package.
    file: &'a str,
    line: usize,
}

fn of_problem<'a>(model: &'a ReportModel, problem: &'a ReportProblem) -> Issue<'a> {
    Issue {
        rule: rule_of(model, problem),
        message: problem.text_and_hint(),
        severity: match problem.severity.as_str() {
            "error" => "major",
            _ => "minor",
        },
        file: problem.file.as_deref().unwrap_or(PACKAGE_FILE),
        line: problem.line.unwrap_or(1),
    }
}

impl Issue<'_> {
    /// The fingerprint is the same as long as the problem is, wherever its line moves.
    fn json(&self, model: &ReportModel, seen: &mut BTreeMap<String, usize>) -> Value {
        let path = model.place(self.file);
        let identity = format!("{}\n{path}\n{}", self.rule, self.message);
        let earlier = seen.entry(identity.clone()).or_default();
        let digest = Sha256::digest(format!("{identity}\n{earlier}"));
        *earlier += 1;
        let fingerprint: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        json!({
            "description": self.message,
            "check_name": self.rule,
            "fingerprint": fingerprint,
            "severity": self.severity,
            "location": {"path": path, "lines": {"begin": self.line}},
        })
    }
}
