//! SARIF 2.1.0, for code scanning: a rule per function, a result per problem.

use kiln_krm::kptfile::FILE_NAME;
use serde_json::{Value, json};

use super::command_words::command_line;
use super::differences::placed_problems;
use super::format::json_text;
use super::model::{ReportModel, ReportProblem};
use super::text::shortened;

/// The rule of problems that no function reported.
pub(super) const OWN_RULE: &str = "kiln";

/// Code scanning refuses a file with more results. Errors come first.
const MOST_RESULTS: usize = 25_000;

/// What code scanning shows of a rule.
const MOST_RULE_TEXT: usize = 1_000;

pub(super) fn write(model: &ReportModel) -> String {
    let mut problems = placed_problems(model);
    problems.truncate(MOST_RESULTS);
    let mut rules: Vec<&str> = Vec::new();
    for problem in &problems {
        let rule = rule_of(model, problem);
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    let version = model.tool.rsplit(' ').next().unwrap_or_default();
    let results: Vec<Value> = problems
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
                    "shortDescription": {"text": plain_message(&shortened(&format!("Reported by {rule}"), MOST_RULE_TEXT))},
                })).collect::<Vec<_>>(),
            }},
            "invocations": [{
                "executionSuccessful": model.verdict != super::Verdict::Failed,
                "commandLine": command_line(&model.command),
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
    let mut result = json!({
        "ruleId": rule,
        "ruleIndex": rules.iter().position(|one| *one == rule),
        "level": if problem.severity == "error" { "error" } else { "warning" },
        "message": {"text": plain_message(&problem.text_and_hint())},
    });
    // Code scanning refuses a result without a place; a problem of no file is one of the package.
    let file = problem.file.as_deref().unwrap_or(FILE_NAME);
    let mut region = json!({"startLine": problem.line.unwrap_or(1)});
    if let Some(column) = problem.column {
        region["startColumn"] = json!(column);
    }
    let mut location = json!({"physicalLocation": {
        "artifactLocation": {"uri": uri(&model.place(file))},
        "region": region,
    }});
    let subject = problem.subject();
    if !subject.is_empty() {
        location["logicalLocations"] = json!([{"fullyQualifiedName": subject, "kind": "object"}]);
    }
    result["locations"] = json!([location]);
    result
}

/// A text without a meaning for SARIF: braces are placeholders of arguments unless they are doubled, and brackets before a
/// parenthesis are a link.
fn plain_message(text: &str) -> String {
    let text = text.replace('{', "{{").replace('}', "}}");
    text.replace("](", "] (")
}

/// A path as a URI, relative unless the path is absolute.
fn uri(path: &str) -> String {
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
