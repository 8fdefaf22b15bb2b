//! Recorded cases of all verbs, run as the program `conformance` runs them.

use std::path::Path;

use conformance::cases::Suite;

use crate::shared;

/// Runs the cases of one tree; `least` guards against looking in the wrong place.
#[track_caller]
fn check(test: &str, tree: &str, least: usize) {
    let Some(shared) = shared::directory(test) else {
        return;
    };
    let suite = Suite {
        bin: Path::new(env!("CARGO_BIN_EXE_kiln")),
        fake_docker: None,
        only: None,
        jobs: None,
        verbose: false,
    };
    let mut told = Vec::new();
    let tally = suite.run(&[shared.join(tree)], &mut told).expect("runs");
    assert_eq!(tally.failed, 0, "{}", String::from_utf8_lossy(&told));
    assert!(tally.passed >= least, "only {tally}");
}

#[test]
fn kpt_cases_match_to_the_byte() {
    check("kpt_cases_match_to_the_byte", "kpt", 33);
}

#[test]
fn recorded_cases_match_to_the_byte() {
    check("recorded_cases_match_to_the_byte", "recorded/render", 294);
}

#[test]
fn legacy_cases_match_by_value() {
    check("legacy_cases_match_by_value", "recorded/legacy-run", 134);
}
