//! The model: what is derived from the facts of a command.

use std::cell::Cell;

use kiln_krm::{GroupVersionKind, ResourceId};
use kiln_pages::report::{
    MODEL_VERSION, ReportAction, ReportChange, ReportFormat, ReportInput, ReportModel,
    ReportProblem, StepInput, TouchedResource, Verdict, build,
};

use crate::sample::{DEPLOYMENT, changed, failed_run, input, set_image, validate};

#[test]
fn json_is_the_model() {
    let model = failed_run();
    let json = ReportFormat::Data.write(&model);
    let read: ReportModel = serde_json::from_str(&json).unwrap();
    assert_eq!(read, model);
    assert_eq!(read.version, MODEL_VERSION);
}

#[test]
fn results_get_the_line_of_their_field() {
    let model = failed_run();
    let problem = &model.problems[0];
    assert_eq!(problem.file.as_deref(), Some("app/deployment.yaml"));
    assert_eq!(problem.line, Some(7));
    assert_eq!(problem.hint.as_deref(), Some("set spec.replicas to 2"));
    assert_eq!(problem.step, Some(1));
}

#[test]
fn results_about_unchanged_files_have_lines() {
    let read = |path: &str| (path == "app/deployment.yaml").then(|| DEPLOYMENT.into());
    let model = build(ReportInput {
        steps: vec![validate()],
        read: &read,
        ..input()
    });
    assert_eq!(model.problems[0].line, Some(7));
}

#[test]
fn reviewers_see_risky_changes() {
    let notes: Vec<(String, String, String)> = failed_run()
        .review
        .into_iter()
        .map(|note| (note.topic, note.before, note.after))
        .collect();
    let note = |topic: &str, before: &str, after: &str| {
        (topic.to_owned(), before.to_owned(), after.to_owned())
    };
    let expected = [
        note("replicas", "1", "3"),
        note("image", "web:1.0", "web:1.1"),
    ];
    assert_eq!(notes, expected);
}

#[test]
fn reviewers_see_resources_that_come_and_go() {
    let model = build(ReportInput {
        files: vec![
            changed("a.yaml", DEPLOYMENT, ""),
            changed("b.yaml", "", DEPLOYMENT),
        ],
        ..input()
    });
    let topics: Vec<(&str, &str)> = model
        .review
        .iter()
        .map(|note| (note.topic.as_str(), note.resource.as_str()))
        .collect();
    let expected = [
        ("deleted", "Deployment shop/web"),
        ("added", "Deployment shop/web"),
    ];
    assert_eq!(topics, expected);
}

#[test]
fn a_resource_lists_all_steps_that_changed_it() {
    let mut moved = set_image();
    moved.touched[0].id.namespace = "prod".to_owned();
    let model = build(ReportInput {
        steps: vec![set_image(), moved],
        files: vec![changed("app/deployment.yaml", DEPLOYMENT, "")],
        ..input()
    });
    let [resource] = &model.resources[..] else {
        panic!("{:?}", model.resources);
    };
    assert_eq!(resource.steps, [0, 1]);
    assert_eq!(resource.title(), "Deployment prod/web");
    assert_eq!(resource.change, ReportChange::Deleted);
}

fn config_map(namespace: &str, data: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm\n  namespace: {namespace}\ndata:\n  a: {data}\n"
    )
}

/// A step that touches the ConfigMaps of these namespaces.
fn touching(namespaces: &[&str]) -> StepInput {
    let mut step = set_image();
    let touched = namespaces.iter().map(|namespace| TouchedResource {
        id: ResourceId {
            gvk: GroupVersionKind {
                group: String::new(),
                version: "v1".to_owned(),
                kind: "ConfigMap".to_owned(),
            },
            namespace: (*namespace).to_owned(),
            name: "cm".to_owned(),
        },
        file: "two.yaml".to_owned(),
    });
    step.touched = touched.collect();
    step
}

/// Namespace, change and steps of each row.
#[track_caller]
fn check_rows(
    steps: Vec<StepInput>,
    before: &[String],
    after: &[String],
    expected: &[(&str, ReportChange, &[usize])],
) {
    let file = changed("two.yaml", &before.join("---\n"), &after.join("---\n"));
    let model = build(ReportInput {
        steps,
        files: vec![file],
        ..input()
    });
    let rows = model.resources.iter();
    let rows: Vec<(&str, ReportChange, &[usize])> = rows
        .map(|row| (row.namespace.as_str(), row.change, row.steps.as_slice()))
        .collect();
    assert_eq!(rows, expected);
}

#[test]
fn resources_of_one_name_have_their_own_rows() {
    check_rows(
        vec![touching(&["one", "two"]), touching(&["one"])],
        &[config_map("one", "1"), config_map("two", "1")],
        &[config_map("one", "2"), config_map("two", "1")],
        &[
            ("one", ReportChange::Changed, &[0, 1]),
            ("two", ReportChange::Unchanged, &[0]),
        ],
    );
}

#[test]
fn a_resource_that_moves_to_another_namespace_keeps_its_row() {
    check_rows(
        vec![touching(&["one", "two"]), touching(&["prod"])],
        &[config_map("one", "1"), config_map("two", "1")],
        &[config_map("prod", "1"), config_map("two", "2")],
        &[
            ("prod", ReportChange::Changed, &[0, 1]),
            ("two", ReportChange::Changed, &[0]),
        ],
    );
}

#[test]
fn kinds_of_another_group_are_other_resources() {
    let other = config_map("one", "1").replace("v1", "example.org/v1");
    let mut step = touching(&["one", "one"]);
    step.touched[1].id.gvk.group = "example.org".to_owned();
    check_rows(
        vec![step],
        &[config_map("one", "1"), other.clone()],
        &[config_map("one", "1"), other.replace("a: 1", "a: 2")],
        &[
            ("one", ReportChange::Unchanged, &[0]),
            ("one", ReportChange::Changed, &[0]),
        ],
    );
}

#[test]
fn packages_of_one_name_are_shown_with_their_directories() {
    let step = |package: &str, directory: &str| StepInput {
        package: package.to_owned(),
        directory: directory.to_owned(),
        ..set_image()
    };
    let model = build(ReportInput {
        steps: vec![
            step("d/db", "a/db"),
            step("d/db", "b/db"),
            step("d/db", "a/db"),
            step("d", ""),
        ],
        ..input()
    });
    let html = ReportFormat::Html.write(&model);
    for title in ["d/db (a/db)", "d/db (b/db)", "d"] {
        let heading = format!("<h3 class=\"package\">{title}</h3>");
        assert_eq!(html.matches(&heading).count(), 1, "{title}");
    }
    assert!(html.contains("<dt>packages</dt><dd>3</dd>"));
    let markdown = ReportFormat::Markdown.write(&model);
    assert_eq!(markdown.matches("| d/db (a/db) |").count(), 2, "{markdown}");
}

#[test]
fn errors_of_kiln_and_of_silent_functions_are_counted() {
    let mut silent = validate();
    silent.result.results.clear();
    let own = ReportProblem {
        severity: "error".to_owned(),
        message: "the package has no Kptfile".to_owned(),
        ..ReportProblem::default()
    };
    for (steps, problems) in [(vec![silent], Vec::new()), (Vec::new(), vec![own])] {
        let model = build(ReportInput {
            verdict: Verdict::Failed,
            steps,
            problems,
            ..input()
        });
        assert_eq!(model.count("error"), 1);
        let markdown = ReportFormat::Markdown.write(&model);
        assert!(markdown.contains(" 1 error, 0 warnings,"), "{markdown}");
    }
}

#[test]
fn a_file_is_read_once_for_all_results_about_it() {
    let reads = Cell::new(0);
    let read = |_: &str| {
        reads.set(reads.get() + 1);
        Some(DEPLOYMENT.into())
    };
    let mut step = validate();
    let item = step.result.results[0].clone();
    step.result.results = vec![item; 100];
    let model = build(ReportInput {
        steps: vec![step],
        read: &read,
        ..input()
    });
    assert!(model.problems.iter().all(|one| one.line == Some(7)));
    assert_eq!(reads.get(), 1);
}

#[test]
fn a_function_that_fails_without_results_is_a_problem() {
    let mut step = validate();
    step.result.results.clear();
    step.result.stderr = "starting\npanic: no such field\n\n".to_owned();
    let model = build(ReportInput {
        steps: vec![step],
        ..input()
    });
    assert_eq!(
        model.problems[0].message,
        "exit code 1: panic: no such field"
    );
}

#[test]
fn headlines() {
    let with = |verdict, action, files: usize| {
        let files = (0..files).map(|index| changed(&format!("{index}.yaml"), "a: 1\n", "a: 2\n"));
        build(ReportInput {
            verdict,
            action,
            files: files.collect(),
            ..input()
        })
        .headline()
    };
    assert_eq!(
        with(Verdict::Passed, ReportAction::Render, 0),
        "Passed: no changes"
    );
    assert_eq!(
        with(Verdict::Passed, ReportAction::Render, 2),
        "Passed: changed 2 files"
    );
    assert_eq!(
        with(Verdict::Passed, ReportAction::DryRun, 1),
        "Passed: would change 1 file"
    );
    let differs = with(Verdict::Differs, ReportAction::Check, 1);
    assert_eq!(differs, "Differs: rendering would change 1 file");
    assert_eq!(failed_run().headline(), "Failed: limits:v1 on package shop");
}

#[test]
fn huge_diffs_are_left_out_and_counted() {
    let line = |text: &str| format!("{text}: {}\n", "x".repeat(8_000)).repeat(900);
    let model = build(ReportInput {
        files: vec![
            changed("huge.yaml", &line("aaaa"), &line("bbbb")),
            changed("small.yaml", "a: 1\n", "a: 2\n"),
        ],
        ..input()
    });
    assert_eq!(model.files[0].diff, "");
    assert_ne!(model.files[1].diff, "");
    assert!(model.notes[0].starts_with("The diffs of 1 file are left out"));
}
