//! Styles, order and fields of annotations.

use kiln_runtime::RunContext;

use super::INFO;
use crate::function::{Context, NoFiles};
use crate::wire;

#[track_caller]
fn check(item: &str, expected: &str) {
    let lines: String = item.lines().map(|line| format!("  {line}\n")).collect();
    let config = "{apiVersion: v1, kind: ConfigMap, data: {a: new, n: '1'}}";
    let input = format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- {}functionConfig: {config}\n",
        lines.trim_start()
    );
    let ctx = Context {
        environment: &[],
        files: &NoFiles,
        run: &RunContext::default(),
    };
    let version = INFO.version("latest").unwrap();
    let answer = wire::run(version, input.as_bytes(), &ctx).unwrap();
    let items = answer.stdout.split("items:\n").nth(1).unwrap();
    let items = items.split("functionConfig:").next().unwrap();
    let expected: String = expected.lines().map(|line| format!("  {line}\n")).collect();
    assert_eq!(items, format!("- {}", expected.trim_start()));
}

#[test]
fn an_annotation_keeps_its_place_and_style_and_loses_its_comment() {
    check(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n  annotations:\n    a: 'old' # why\n    z: 1",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n  annotations:\n    a: 'new'\n    z: 1\n    n: \"1\"",
    );
}

#[test]
fn new_annotations_take_the_style_of_the_last_that_was_there() {
    check(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: x\nspec:\n  template:\n    metadata:\n      annotations:\n        a: 'old'",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: x\n  annotations:\n    a: 'new'\n    n: \"1\"\nspec:\n  template:\n    metadata:\n      annotations:\n        a: 'new'\n        n: \"1\"",
    );
}

#[test]
fn an_empty_map_moves_to_the_end() {
    check(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  annotations: {}\n  name: x",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n  annotations:\n    a: new\n    n: \"1\"",
    );
}
