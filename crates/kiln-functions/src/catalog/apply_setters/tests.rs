//! Comments of lists. The output of v0.1.1 and v0.2.0 is that of the originals, except for indentation.

use kiln_runtime::RunContext;

use super::INFO;
use crate::function::{Context, NoFiles};
use crate::wire;

const ITEM: &str = "\
- apiVersion: v1
  kind: Thing
  metadata:
    name: my
  value: a # kpt-set: ${first}
  # above the list
  list:
  # before a map
  - name: a
    # before a field
    image: b
  - # before its first field
    name: c
  # before another
  - # before the first field of another
    name: g
  # before braces
  - {name: d} # behind braces
  # before a text
  - e
  - list:
    # before a map of a list of a list
    - name: f
";

#[track_caller]
fn check(version: &str, expected: &str) {
    let input = format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{ITEM}functionConfig: {{data: {{first: x}}}}\n"
    );
    let ctx = Context {
        environment: &[],
        files: &NoFiles,
        run: &RunContext::default(),
    };
    let version = INFO.version(version).unwrap();
    let answer = wire::run(version, input.as_bytes(), &ctx).unwrap();
    let items = answer.stdout.split("items:\n").nth(1).unwrap();
    assert_eq!(items.split("functionConfig:").next().unwrap(), expected);
}

#[test]
fn v0_1_1_loses_comments_before_items() {
    let expected = ITEM
        .replace("a # kpt-set", "x # kpt-set")
        .replace("  # before a map\n", "")
        .replace(
            "  - # before its first field\n    name: c\n",
            "  # before its first field\n  - name: c\n",
        )
        .replace(
            "  # before another\n  - # before the first field of another\n    name: g\n",
            "  # before the first field of another\n  - name: g\n",
        )
        .replace("  # before braces\n", "");
    check("v0.1.1", &expected);
}

#[test]
fn later_versions_lose_comments_of_first_fields() {
    let expected = ITEM
        .replace("a # kpt-set", "x # kpt-set")
        .replace(
            "  - # before its first field\n    name: c\n",
            "  # before its first field\n  - name: c\n",
        )
        .replace(
            "  - # before the first field of another\n    name: g\n",
            "  - name: g\n",
        );
    check("v0.2.0", &expected);
}
