//! How each format shows a problem: what it is about, where it is, and its message.

use kiln_krm::results::{Field, ResourceRef, ResultItem};
use kiln_pages::report::{
    ReportFormat, ReportInput, ReportModel, ReportProblem, StepStatus, Verdict, annotations, build,
};
use serde_json::Value;

use crate::sample::{changed, failed_run, input, validate};

/// The formats that show a text for each problem.
fn texts(model: &ReportModel) -> Vec<String> {
    let formats = [
        ReportFormat::Html,
        ReportFormat::Markdown,
        ReportFormat::Sarif,
        ReportFormat::Junit,
        ReportFormat::CodeQuality,
    ];
    let texts = formats.iter().map(|format| format.write(model));
    texts.chain([annotations(model)]).collect()
}

/// A run in which a validator reports one item.
fn reporting(item: ResultItem) -> ReportModel {
    let mut step = validate();
    step.result.results = vec![item];
    build(ReportInput {
        verdict: Verdict::Failed,
        steps: vec![step],
        ..input()
    })
}

fn sarif(model: &ReportModel) -> Vec<Value> {
    let sarif = ReportFormat::Sarif.write(model);
    let sarif: Value = serde_json::from_str(&sarif).expect("JSON");
    sarif["runs"][0]["results"]
        .as_array()
        .expect("results")
        .clone()
}

#[test]
fn problems_name_the_resource_and_the_field() {
    for text in texts(&failed_run()) {
        let expected = "Deployment shop/web spec.replicas: use at most 2 replicas";
        assert!(text.contains(expected), "{text}");
    }
    let location = &sarif(&failed_run())[0]["locations"][0];
    assert_eq!(
        location["logicalLocations"][0]["fullyQualifiedName"],
        "Deployment shop/web spec.replicas"
    );
}

#[test]
fn a_problem_without_a_message_has_a_text() {
    let mut item = validate().result.results[0].clone();
    item.message.clear();
    item.field = Some(Field::at("spec.replicas"));
    for text in texts(&reporting(item)) {
        assert!(text.contains("Deployment shop/web spec.replicas"), "{text}");
    }
    let nothing = ResultItem {
        severity: "error".to_owned(),
        resource_ref: Some(ResourceRef::default()),
        ..ResultItem::default()
    };
    for text in texts(&reporting(nothing)) {
        assert!(
            text.contains("(no message)") || text.contains("(no message\\)"),
            "{text}"
        );
    }
}

#[test]
fn unknown_severities_are_not_overlooked() {
    for (word, severity) in [
        ("error", "error"),
        ("Error", "error"),
        ("fatal", "error"),
        ("WARNING", "warning"),
        ("unusual", "warning"),
        ("Info", "info"),
        ("", "info"),
    ] {
        let item = ResultItem {
            message: "m".to_owned(),
            severity: word.to_owned(),
            ..ResultItem::default()
        };
        let model = reporting(item);
        assert_eq!(model.steps[0].results[0].severity, severity, "{word:?}");
        let reported = model.problems.iter().any(|one| one.message == "m");
        assert_eq!(reported, severity != "info", "{word:?}");
    }
}

#[test]
fn the_title_of_a_failed_test_is_the_error_of_the_function() {
    let own = ReportProblem {
        severity: "error".to_owned(),
        message: "function failed: exit status 1".to_owned(),
        ..ReportProblem::default()
    };
    let model = build(ReportInput {
        verdict: Verdict::Failed,
        problems: vec![own],
        steps: vec![validate()],
        ..input()
    });
    assert_eq!(model.steps[0].status, StepStatus::Failed);
    let xml = ReportFormat::Junit.write(&model);
    let title = "<failure message=\"Deployment shop/web spec.replicas: use at most 2 replicas\">\
                 [error] function failed: exit status 1\n";
    assert!(xml.contains(title), "{xml}");
}

/// A check that finds so many files that are not up to date.
fn differing(count: usize) -> ReportModel {
    let summary = ReportProblem {
        severity: "error".to_owned(),
        message: format!("Would change {count} files: 0.yaml and more"),
        ..ReportProblem::default()
    };
    let files =
        (0..count).map(|number| changed(&format!("{number}.yaml"), "a: 1\nb: 1\n", "a: 1\nb: 2\n"));
    build(ReportInput {
        verdict: Verdict::Differs,
        problems: vec![summary],
        files: files.collect(),
        ..input()
    })
}

#[test]
fn code_scanning_gets_each_file_that_is_not_up_to_date() {
    let results = sarif(&differing(12));
    assert_eq!(results.len(), 12);
    let place = &results[11]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "my%20shop/11.yaml");
    assert_eq!(place["region"]["startLine"], 2);
    let quality = ReportFormat::CodeQuality.write(&differing(12));
    let issues: Vec<Value> = serde_json::from_str(&quality).expect("a list");
    assert_eq!(issues.len(), 12);
}

#[test]
fn test_reports_list_each_file_that_is_not_up_to_date() {
    let xml = ReportFormat::Junit.write(&differing(12));
    for number in 0..12 {
        let line = format!("[error] {number}.yaml:2: rendering would change this file\n");
        assert!(xml.contains(&line), "{xml}");
        let diff =
            format!("--- {number}.yaml\n+++ {number}.yaml\n@@ -1,2 +1,2 @@\n a: 1\n-b: 1\n+b: 2");
        assert!(xml.contains(&diff), "{xml}");
    }
}

#[test]
fn test_reports_of_huge_differences_stay_small() {
    let long = |text: &str| format!("{text}: {}\n", "x".repeat(8_000)).repeat(90);
    let model = build(ReportInput {
        verdict: Verdict::Differs,
        files: vec![
            changed("huge.yaml", &long("a"), &long("b")),
            changed("small.yaml", "a: 1\n", "a: 2\n"),
        ],
        ..input()
    });
    let xml = ReportFormat::Junit.write(&model);
    assert!(xml.len() < 300 << 10, "{}", xml.len());
    assert!(
        xml.contains("] huge.yaml:1: ") && xml.contains("+a: 2"),
        "{xml}"
    );
}
