//! SARIF 2.1.0, for code scanning: a rule per function, a result per problem.

use serde_json::{Value, json};

use super::format::json_text;
use super::github::in_directory;
use super::model::{ReportModel, ReportProblem};

/// The rule of problems that no function reported.
pub(super) const OWN_RULE: &str = "kiln";

pub(super) fn write(model: &ReportModel) -> String {
    let mut rules: Vec<&str> = Vec::new();
    for problem in &model.problems {
        let rule = rule_of(model, problem);
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    let version = model.tool.rsplit(' ').next().unwrap_or_default();
    let results: Vec<Value> = model
        .problems
        .iter()
        .map(|problem| result(model, problem, &rules))
        .collect();
    json_text(&json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "kiln",
                "version": version,
                "rules": rules.iter().map(|rule| json!({
                    "id": rule,
                    "shortDescription": {"text": format!("Reported by {rule}")},
                })).collect::<Vec<_>>(),
            }},
            "invocations": [{
                "executionSuccessful": model.verdict != super::Verdict::Failed,
                "commandLine": model.command.join(" "),
            }],
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    }))
}

/// The function that reported a problem.
pub(super) fn rule_of<'a>(model: &'a ReportModel, problem: &ReportProblem) -> &'a str {
    let step = problem.step.and_then(|step| model.steps.get(step));
    step.map_or(OWN_RULE, |step| &step.function)
}

fn result(model: &ReportModel, problem: &ReportProblem, rules: &[&str]) -> Value {
    let rule = rule_of(model, problem);
    let mut message = problem.message.clone();
    if let Some(hint) = &problem.hint {
        message = format!("{message}\n{hint}");
    }
    let mut result = json!({
        "ruleId": rule,
        "ruleIndex": rules.iter().position(|one| *one == rule),
        "level": if problem.severity == "error" { "error" } else { "warning" },
        "message": {"text": message},
        "locations": [],
    });
    if let Some(file) = &problem.file {
        let mut place = json!({"artifactLocation": {"uri": uri(&model.directory, file)}});
        if let Some(line) = problem.line {
            place["region"] = json!({"startLine": line});
            if let Some(column) = problem.column {
                place["region"]["startColumn"] = json!(column);
            }
        }
        result["locations"] = json!([{"physicalLocation": place}]);
    }
    result
}

/// The path of a file of the package as a URI, relative unless the user named the package by an absolute path.
fn uri(directory: &str, file: &str) -> String {
    let path = in_directory(directory, file);
    let mut uri = String::with_capacity(path.len());
    if path.starts_with('/') {
        uri.push_str("file://");
    }
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}
