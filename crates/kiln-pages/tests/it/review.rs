//! Changes for reviewers, and what happened to each resource.

use kiln_krm::ResourceId;
use kiln_pages::report::{ReportChange, ReportInput, TouchedResource, build};

use crate::sample::{changed, input, set_image};

fn resource(kind: &str, namespace: &str, name: &str) -> String {
    format!(
        "apiVersion: v1\nkind: {kind}\nmetadata:\n  name: {name}\n  namespace: {namespace}\nspec:\n  port: 1\n"
    )
}

/// Topic, resource, and values before and after.
#[track_caller]
fn check(before: &str, after: &str, expected: &[[&str; 4]]) {
    let model = build(ReportInput {
        files: vec![changed("a.yaml", before, after)],
        ..input()
    });
    let notes: Vec<[&str; 4]> = model
        .review
        .iter()
        .map(|note| [&*note.topic, &*note.resource, &*note.before, &*note.after])
        .collect();
    assert_eq!(notes, expected);
}

#[test]
fn another_namespace_is_one_change() {
    check(
        &resource("Service", "a", "web"),
        &resource("Service", "b", "web"),
        &[["namespace", "Service b/web", "a", "b"]],
    );
}

#[test]
fn another_name_is_one_change_if_it_is_clear() {
    check(
        &resource("Service", "a", "old"),
        &resource("Service", "a", "new"),
        &[["renamed", "Service a/new", "old", "new"]],
    );
    let two = [
        resource("Service", "a", "one"),
        resource("Service", "a", "two"),
    ]
    .join("---\n");
    check(
        &resource("Service", "a", "old"),
        &two,
        &[
            ["added", "Service a/one", "", ""],
            ["added", "Service a/two", "", ""],
            ["deleted", "Service a/old", "", ""],
        ],
    );
}

#[test]
fn privileges_of_containers_are_about_security() {
    let pod = |value: &str| {
        let security = format!("securityContext: {{privileged: {value}}}");
        format!("kind: Pod\nmetadata:\n  name: a\nspec:\n  containers:\n  - {security}\n")
    };
    check(
        &pod("false"),
        &pod("true"),
        &[["security", "Pod a", "false", "true"]],
    );
}

#[test]
fn what_leads_to_the_machine_is_about_security() {
    let pod = |spec: &str| format!("kind: Pod\nmetadata:\n  name: a\nspec:\n  x: 1\n{spec}");
    for (spec, note) in [
        (
            "  containers:\n  - securityContext: {capabilities: {add: [SYS_ADMIN]}}\n",
            ["security", "Pod a", "", "SYS_ADMIN"],
        ),
        (
            "  volumes:\n  - hostPath: {path: /etc}\n",
            ["security", "Pod a", "", "/etc"],
        ),
        (
            "  automountServiceAccountToken: true\n",
            ["rbac", "Pod a", "", "true"],
        ),
    ] {
        check(&pod(""), &pod(spec), &[note]);
    }
}

#[test]
fn metadata_and_status_are_not_reviewed() {
    let text = |image: &str| {
        format!(
            "kind: Service\nmetadata:\n  name: a\n  annotations: {{image: {image}}}\nstatus:\n  image: {image}\n"
        )
    };
    check(&text("a"), &text("b"), &[]);
}

#[test]
fn changes_beyond_the_list_are_counted() {
    let files = (0..300).map(|number| {
        let path = format!("{number}.yaml");
        changed(&path, "", &resource("Service", "a", "web"))
    });
    let model = build(ReportInput {
        files: files.collect(),
        ..input()
    });
    assert_eq!(model.review.len(), 200);
    assert_eq!(model.notes.len(), 1, "{:?}", model.notes);
    assert!(model.notes[0].contains("100 changes"), "{:?}", model.notes);
    let paths: Vec<&str> = model.files.iter().map(|file| &*file.path).collect();
    assert_eq!(paths[0], "0.yaml");
    assert_eq!(paths[299], "299.yaml");
}

#[test]
fn a_resource_has_its_own_change_and_not_that_of_its_file() {
    let kept = resource("Service", "a", "kept");
    let gone = resource("Service", "a", "gone");
    let grown = resource("Service", "a", "grown");
    let before = [&*kept, &*gone, &*grown].join("---\n");
    let after = [
        &*kept,
        &*grown.replace("port: 1", "port: 2"),
        &*resource("Service", "a", "new"),
    ]
    .join("---\n");
    let mut step = set_image();
    let touch = |name: &str| TouchedResource {
        id: ResourceId {
            name: name.to_owned(),
            ..step.touched[0].id.clone()
        },
        file: "a.yaml".to_owned(),
    };
    let mut touched = ["kept", "gone", "grown", "new"].map(touch).to_vec();
    for one in &mut touched {
        one.id.gvk.kind = "Service".to_owned();
    }
    step.touched = touched;
    let model = build(ReportInput {
        steps: vec![step],
        files: vec![changed("a.yaml", &before, &after)],
        ..input()
    });
    let changes: Vec<ReportChange> = model.resources.iter().map(|row| row.change).collect();
    assert_eq!(
        changes,
        [
            ReportChange::Unchanged,
            ReportChange::Deleted,
            ReportChange::Changed,
            ReportChange::Added,
        ]
    );
}
