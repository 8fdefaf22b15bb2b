//! Failures, and how older kyaml moves comments.

use kiln_runtime::RunContext;

use super::INFO;
use crate::function::{Context, NoFiles};
use crate::wire::{self, ProgramOutput};

fn run(version: &str, items: &str) -> ProgramOutput {
    let input = format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}");
    let ctx = Context {
        environment: &[],
        files: &NoFiles,
        run: &RunContext::default(),
    };
    wire::run(INFO.version(version).unwrap(), input.as_bytes(), &ctx).unwrap()
}

#[test]
fn an_error_is_printed_below_the_list_too_and_earlier_resources_are_formatted() {
    let items = "\
- kind: A
  apiVersion: v1
- kind: B
  apiVersion: v1
  metadata:
    annotations:
      config.kubernetes.io/formatting: pretty
";
    for version in ["v0.1.0", "latest"] {
        let answer = run(version, items);
        let error = "failed to format resources: formatting annotation has illegal value pretty";
        assert_eq!(answer.stderr, error);
        assert_eq!(answer.exit_code, 1);
        let expected = format!(
            "- apiVersion: v1\n  kind: A\n- kind: B\n  apiVersion: v1\n{}{error}\n",
            "  metadata:\n    annotations:\n      config.kubernetes.io/formatting: pretty\n",
        );
        assert!(answer.stdout.ends_with(&expected), "{}", answer.stdout);
    }
}

#[test]
fn a_comment_above_what_becomes_the_first_field_of_an_item() {
    let items = "\
- apiVersion: v1
  kind: A
  list:
  - b: 1
    # about a
    a: 2
";
    let newer = run("latest", items).stdout;
    assert!(
        newer.contains("  - # about a\n    a: 2\n    b: 1\n"),
        "{newer}"
    );
    let older = run("v0.1.0", items).stdout;
    assert!(
        older.contains("  # about a\n  - a: 2\n    b: 1\n"),
        "{older}"
    );
}

#[test]
fn metadata_that_is_none_is_the_last_word() {
    let items = "- kind: A\n  apiVersion: v1\n  metadata: [a]\n";
    assert_eq!(
        run("v0.1.0", items).stderr,
        "wrong Node Kind for metadata expected: MappingNode was SequenceNode: value: {[a]}"
    );
    assert_eq!(
        run("latest", items).stderr,
        "wrong node kind: expected MappingNode but got SequenceNode: node contents:\n[a]\n"
    );
}
