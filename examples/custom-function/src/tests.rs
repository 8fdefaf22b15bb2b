//! Tests of the function, with a small list each.

use kiln_functions::{Context, NoFiles, wire};
use kiln_runtime::RunContext;

use crate::REQUIRE_OWNER;

const ITEMS: &str = "kind: ResourceList\nitems:\n- kind: Service\n  metadata:\n    name: web\n";

#[track_caller]
fn check(config: &str, exit_code: i32, expected: &str) {
    let ctx = Context {
        environment: &[],
        files: &NoFiles,
        run: &RunContext::default(),
    };
    let input = format!("{ITEMS}{config}");
    let answer = wire::run(&REQUIRE_OWNER, input.as_bytes(), &ctx).unwrap();
    assert_eq!(answer.exit_code, exit_code);
    assert!(answer.stdout.contains(expected), "{}", answer.stdout);
}

#[test]
fn a_missing_owner_is_set() {
    check(
        "functionConfig: {kind: ConfigMap, data: {owner: shop}}\n",
        0,
        "example.com/owner: 'shop'",
    );
}

#[test]
fn a_missing_owner_is_reported() {
    check("", 1, "- message: web has no owner\n  severity: error");
}
