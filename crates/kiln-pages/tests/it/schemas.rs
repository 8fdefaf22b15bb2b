//! SARIF and JUnit have the structure that their readers require, written down from the specifications: no schema file is part
//! of this repository.

use std::collections::BTreeSet;

use kiln_pages::report::{
    ReportAction, ReportFormat, ReportInput, ReportModel, ReportProblem, StepInput, StepPosition,
    StepStatus, Verdict, build,
};
use serde_json::Value;

use crate::sample::{changed, failed_run, input, set_image, validate};

/// Runs that fill all parts of a report.
fn models() -> Vec<ReportModel> {
    let problem = ReportProblem {
        severity: "error".to_owned(),
        message: "Error: <&\"> \u{1F600}".to_owned(),
        file: Some("a b/ü.yaml".to_owned()),
        line: Some(3),
        column: Some(5),
        hint: Some("fix it".to_owned()),
        ..ReportProblem::default()
    };
    let own_failure = build(ReportInput {
        verdict: Verdict::Failed,
        problems: vec![problem],
        ..input()
    });
    let differs = build(ReportInput {
        verdict: Verdict::Differs,
        steps: vec![set_image()],
        files: vec![changed("a.yaml", "a: 1\n", "a: 2\n")],
        ..input()
    });
    let mut silent = validate();
    silent.result.results.clear();
    let silent = build(ReportInput {
        verdict: Verdict::Failed,
        steps: vec![silent],
        ..input()
    });
    vec![failed_run(), own_failure, differs, silent, build(input())]
}

#[track_caller]
fn keys(value: &Value, required: &[&str], optional: &[&str]) {
    let object = value.as_object().expect("an object");
    for key in required {
        assert!(object.contains_key(*key), "no {key} in {value:#}");
    }
    for key in object.keys() {
        let is_known = required.iter().chain(optional).any(|known| known == key);
        assert!(is_known, "{key} in {value:#}");
    }
}

#[track_caller]
fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

/// A URI reference has no spaces, quotes or characters outside of ASCII.
#[track_caller]
fn check_uri(uri: &str) {
    let is_valid = |byte: u8| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte);
    assert!(!uri.is_empty() && uri.bytes().all(is_valid), "{uri}");
}

#[test]
fn sarif_has_the_required_properties() {
    for model in models() {
        let sarif: Value = serde_json::from_str(&ReportFormat::Sarif.write(&model)).expect("JSON");
        keys(&sarif, &["$schema", "version", "runs"], &[]);
        assert_eq!(sarif["version"], "2.1.0");
        for run in sarif["runs"].as_array().expect("runs") {
            keys(run, &["tool", "results"], &["invocations", "columnKind"]);
            keys(&run["tool"], &["driver"], &[]);
            let driver = &run["tool"]["driver"];
            keys(driver, &["name"], &["version", "rules"]);
            assert!(["utf16CodeUnits", "unicodeCodePoints"].contains(&text(&run["columnKind"])));
            for invocation in run["invocations"].as_array().expect("invocations") {
                keys(invocation, &["executionSuccessful"], &["commandLine"]);
                assert!(invocation["executionSuccessful"].is_boolean());
            }
            let rules = driver["rules"].as_array().expect("rules");
            let mut ids: Vec<&str> = rules.iter().map(|rule| text(&rule["id"])).collect();
            for rule in rules {
                keys(rule, &["id"], &["shortDescription"]);
                keys(&rule["shortDescription"], &["text"], &[]);
            }
            for result in run["results"].as_array().expect("results") {
                check_result(result, &ids);
            }
            ids.sort_unstable();
            let count = ids.len();
            ids.dedup();
            assert_eq!(ids.len(), count, "rules are unique");
        }
    }
}

#[track_caller]
fn check_result(result: &Value, rules: &[&str]) {
    keys(
        result,
        &["message"],
        &["ruleId", "ruleIndex", "level", "locations"],
    );
    keys(&result["message"], &["text"], &[]);
    assert!(!text(&result["message"]["text"]).is_empty());
    assert!(["none", "note", "warning", "error"].contains(&text(&result["level"])));
    let index = result["ruleIndex"].as_u64().expect("an index");
    let rule = rules.get(usize::try_from(index).expect("an index"));
    assert_eq!(rule.copied(), Some(text(&result["ruleId"])));
    let locations = result["locations"].as_array().expect("locations");
    assert_eq!(
        locations.len(),
        1,
        "code scanning refuses a result without a place"
    );
    for location in locations {
        keys(location, &["physicalLocation"], &["logicalLocations"]);
        check_logical_locations(location);
        let place = &location["physicalLocation"];
        keys(place, &["artifactLocation"], &["region"]);
        keys(&place["artifactLocation"], &["uri"], &[]);
        check_uri(text(&place["artifactLocation"]["uri"]));
        if let Some(region) = place.get("region") {
            keys(region, &["startLine"], &["startColumn"]);
            for key in ["startLine", "startColumn"] {
                let number = region
                    .get(key)
                    .map(|number| number.as_u64().expect("a number"));
                assert!(number.is_none_or(|number| number >= 1), "{region}");
            }
        }
    }
}

#[track_caller]
fn check_logical_locations(location: &Value) {
    for place in location["logicalLocations"]
        .as_array()
        .into_iter()
        .flatten()
    {
        keys(place, &["fullyQualifiedName"], &["kind"]);
        assert!(!text(&place["fullyQualifiedName"]).is_empty());
    }
}

/// An element of XML.
#[derive(Default, Debug)]
struct Element {
    name: String,
    attributes: Vec<(String, String)>,
    children: Vec<Element>,
}

impl Element {
    fn attribute(&self, name: &str) -> Option<&str> {
        let mut found = self.attributes.iter().filter(|(known, _)| known == name);
        found.next().map(|(_, value)| value.as_str())
    }

    #[track_caller]
    fn number(&self, name: &str) -> usize {
        let value = self.attribute(name);
        value
            .and_then(|value| value.parse().ok())
            .expect("a number")
    }

    /// Checks the names of attributes and children.
    #[track_caller]
    fn check(&self, required: &[&str], optional: &[&str], children: &[&str]) {
        for name in required {
            assert!(self.attribute(name).is_some(), "no {name}: {self:?}");
        }
        for (name, _) in &self.attributes {
            let mut known = required.iter().chain(optional);
            assert!(known.any(|known| known == name), "{name}: {self:?}");
        }
        for child in &self.children {
            assert!(children.contains(&child.name.as_str()), "{child:?}");
        }
        if let Some(time) = self.attribute("time") {
            assert!(is_surefire_time(time), "{time}");
        }
    }

    fn count(&self, child: &str) -> usize {
        let has = |case: &&Element| case.children.iter().any(|it| it.name == child);
        self.children.iter().filter(has).count()
    }
}

/// A number with at most three decimals: older versions of the schema accept no more.
fn is_surefire_time(time: &str) -> bool {
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    match time.split_once('.') {
        Some((whole, decimals)) => is_number(whole) && is_number(decimals) && decimals.len() <= 3,
        None => is_number(time),
    }
}

/// Reads the XML that reports have: elements, attributes and escaped text. Panics if it is not well formed.
fn parse_xml(text: &str) -> Element {
    let body = text.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let mut rest = body.expect("a declaration");
    let mut open = vec![Element::default()];
    while let Some(start) = rest.find('<') {
        let (content, tag) = rest.split_at(start);
        check_escaped(content);
        let end = tag.find('>').expect("the end of a tag");
        let inside = &tag[1..end];
        rest = &tag[end + 1..];
        if let Some(name) = inside.strip_prefix('/') {
            let closed = open.pop().expect("an open element");
            assert_eq!(closed.name, name);
            open.last_mut().expect("a parent").children.push(closed);
            continue;
        }
        let (name, mut attributes) = inside.split_once(' ').unwrap_or((inside, ""));
        let mut element = Element {
            name: name.to_owned(),
            ..Element::default()
        };
        while let Some((name, value)) = attributes.trim_start().split_once("=\"") {
            let (value, more) = value.split_once('"').expect("the end of a value");
            check_escaped(value);
            assert!(element.attribute(name).is_none(), "{name} is there twice");
            element.attributes.push((name.to_owned(), value.to_owned()));
            attributes = more;
        }
        assert_eq!(attributes.trim(), "");
        open.push(element);
    }
    assert_eq!(rest.trim(), "");
    let mut root = open.pop().expect("a root");
    assert!(open.is_empty(), "elements are open");
    root.children.pop().expect("an element")
}

#[track_caller]
fn check_escaped(text: &str) {
    assert!(!text.contains(['<', '>']), "{text}");
    for after in text.split('&').skip(1) {
        let is_entity = ["amp;", "lt;", "gt;", "quot;"]
            .iter()
            .any(|entity| after.starts_with(entity));
        assert!(is_entity, "&{after}");
    }
    let is_character =
        |c: char| matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{fffd}' | '\u{10000}'..);
    assert!(text.chars().all(is_character), "{text:?}");
}

/// The rules of `junit-10.xsd`, the schema of the xUnit plugin of Jenkins.
#[test]
fn junit_has_what_the_schema_of_jenkins_requires() {
    for model in models() {
        let suites = parse_xml(&ReportFormat::Junit.write(&model));
        assert_eq!(suites.name, "testsuites");
        let numbers = ["tests", "failures", "errors", "time"];
        suites.check(&numbers, &["name"], &["testsuite"]);
        let (mut tests, mut failures) = (0, 0);
        for suite in &suites.children {
            let required = ["name", "tests", "failures", "errors"];
            let optional = ["skipped", "timestamp", "time"];
            suite.check(&required, &optional, &["testcase"]);
            assert_eq!(suite.number("tests"), suite.children.len());
            assert_eq!(suite.number("failures"), suite.count("failure"));
            assert_eq!(suite.number("skipped"), suite.count("skipped"));
            assert_eq!(suite.number("errors"), 0);
            assert_ne!(suite.attribute("name"), Some(""));
            for case in &suite.children {
                let children = ["failure", "skipped", "system-err"];
                case.check(&["name", "classname"], &["time"], &children);
                for child in &case.children {
                    let optional: &[&str] = match child.name.as_str() {
                        "system-err" => &[],
                        _ => &["message", "type"],
                    };
                    child.check(&[], optional, &[]);
                }
            }
            let names = suite.children.iter().map(|case| case.attribute("name"));
            let unique: BTreeSet<Option<&str>> = names.collect();
            assert_eq!(unique.len(), suite.children.len(), "{suite:?}");
            tests += suite.children.len();
            failures += suite.number("failures");
        }
        assert_eq!(
            (suites.number("tests"), suites.number("failures")),
            (tests, failures)
        );
    }
}

fn junit_of(input: ReportInput<'_>) -> String {
    ReportFormat::Junit.write(&build(input))
}

#[test]
fn junit_names_each_step_and_those_that_did_not_run() {
    let mut failed = set_image();
    failed.status = StepStatus::Failed;
    failed.position = Some(StepPosition {
        number: 2,
        count: 3,
    });
    failed.result.exit_code = 1;
    let xml = junit_of(ReportInput {
        verdict: Verdict::Failed,
        steps: vec![set_image(), failed],
        ..input()
    });
    for part in [
        "tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\"",
        "<testcase name=\"1. set-image:v0.1\"",
        "<testcase name=\"2. set-image:v0.1\"",
        "<failure message=\"exit code 1\">[error] exit code 1</failure>",
        "<testcase name=\"3. (did not run)\" classname=\"shop\" time=\"0.000\">\n      <skipped ",
    ] {
        assert!(xml.contains(part), "{part}: {xml}");
    }
}

#[test]
fn junit_says_why_a_function_never_ran() {
    let mut step = validate();
    step.result.results.clear();
    step.result.stderr.clear();
    step.result.exit_code = 0;
    let problem = ReportProblem {
        severity: "error".to_owned(),
        message: "cannot call the runner: Connection refused".to_owned(),
        file: Some("Kptfile".to_owned()),
        line: Some(7),
        hint: Some("start it".to_owned()),
        ..ReportProblem::default()
    };
    let xml = junit_of(ReportInput {
        verdict: Verdict::Failed,
        problems: vec![problem],
        steps: vec![step],
        ..input()
    });
    let expected = "<failure message=\"cannot call the runner: Connection refused\">\
                    [error] Kptfile:7: cannot call the runner: Connection refused\n  hint: start it</failure>";
    assert!(xml.contains(expected), "{xml}");
}

#[test]
fn junit_has_what_a_silent_function_printed() {
    let mut step = validate();
    step.result.results.clear();
    step.result.stderr = "starting\npanic: no field\n".to_owned();
    let xml = junit_of(ReportInput {
        verdict: Verdict::Failed,
        steps: vec![step],
        ..input()
    });
    assert!(
        xml.contains("[error] exit code 1: panic: no field\nstarting\n"),
        "{xml}"
    );
}

#[test]
fn junit_of_eval_has_the_name_of_the_package() {
    for (package, expected) in [("shop", "shop"), ("", "standard input")] {
        let step = StepInput {
            package: String::new(),
            position: None,
            ..set_image()
        };
        let xml = junit_of(ReportInput {
            action: ReportAction::Eval,
            package: package.to_owned(),
            steps: vec![step],
            ..input()
        });
        for part in [
            format!("<testsuite name=\"{expected}\""),
            format!("<testcase name=\"1. set-image:v0.1\" classname=\"{expected}\""),
        ] {
            assert!(xml.contains(&part), "{part}: {xml}");
        }
    }
}

#[test]
fn a_page_has_a_size_that_browsers_open() {
    let large = |name: &str| {
        let lines: String = (0..100_000)
            .map(|line| format!("{name}{line}: <&>\n"))
            .collect();
        changed(&format!("{name}.yaml"), "", &lines)
    };
    let mut step = validate();
    step.result.stderr = "<".repeat(250 << 10);
    let model = build(ReportInput {
        steps: (0..40)
            .map(|_| {
                let mut step = set_image();
                step.result.stderr.clone_from(&"<".repeat(250 << 10));
                step
            })
            .chain([step])
            .collect(),
        files: ["a", "b", "c", "d", "e", "f"].map(large).into(),
        ..input()
    });
    let page = ReportFormat::Html.write(&model);
    assert!(page.len() <= 20 << 20, "{}", page.len());
    assert!(page.contains("This page is not complete"));
    // The data has everything.
    assert!(ReportFormat::Data.write(&model).len() > 12 << 20);
}

#[test]
fn code_quality_has_what_gitlab_needs_of_each_issue() {
    for model in models() {
        let report = ReportFormat::CodeQuality.write(&model);
        let issues: Vec<Value> = serde_json::from_str(&report).expect("a list");
        assert_eq!(issues.is_empty(), model.verdict == Verdict::Passed);
        let mut fingerprints = Vec::new();
        for issue in &issues {
            let required = ["description", "check_name", "fingerprint"];
            keys(issue, &required, &["severity", "location"]);
            assert!(["major", "minor"].contains(&text(&issue["severity"])));
            assert!(issue["location"]["lines"]["begin"].as_u64() > Some(0));
            // Relative to the repository, and without a leading `./`.
            let path = text(&issue["location"]["path"]);
            assert!(path.starts_with("my shop/"), "{path}");
            fingerprints.push(text(&issue["fingerprint"]));
        }
        fingerprints.sort_unstable();
        fingerprints.dedup();
        assert_eq!(fingerprints.len(), issues.len(), "{report}");
    }
}

#[test]
fn code_quality_shows_the_first_line_that_would_change_and_keeps_equal_problems_apart() {
    let before: String = (1..20).map(|line| format!("line{line}: 1\n")).collect();
    let differs = build(ReportInput {
        verdict: Verdict::Differs,
        files: vec![changed(
            "a.yaml",
            &before,
            &before.replace("line12: 1", "line12: 2"),
        )],
        ..input()
    });
    let issues: Vec<Value> =
        serde_json::from_str(&ReportFormat::CodeQuality.write(&differs)).expect("a list");
    assert_eq!(issues[0]["location"]["lines"]["begin"], 12);

    let problem = |line| ReportProblem {
        severity: "error".to_owned(),
        message: "twice".to_owned(),
        file: Some("a.yaml".to_owned()),
        line: Some(line),
        ..ReportProblem::default()
    };
    let fingerprints = |lines: [usize; 2]| {
        let model = build(ReportInput {
            verdict: Verdict::Failed,
            problems: lines.map(problem).to_vec(),
            ..input()
        });
        let issues: Vec<Value> =
            serde_json::from_str(&ReportFormat::CodeQuality.write(&model)).expect("a list");
        issues
            .iter()
            .map(|issue| text(&issue["fingerprint"]).to_owned())
            .collect::<Vec<_>>()
    };
    let found = fingerprints([3, 7]);
    assert_ne!(found[0], found[1]);
    // A line that moves is the same problem.
    assert_eq!(found, fingerprints([5, 9]));
}
