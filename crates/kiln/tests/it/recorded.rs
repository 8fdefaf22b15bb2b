//! Recorded cases of all verbs, run as the program `conformance` runs them.

use std::path::Path;

use conformance::cases::{CaseTally, Catalog, Mode, Suite};

use crate::shared;

/// The trees of cases whose inputs are ours; those of kpt and of the catalog lie beside the repository.
const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/recorded");

/// Runs the cases of one tree; `least` guards against looking in the wrong place.
#[track_caller]
fn check(test: &str, mode: Mode, tree: &str, least: usize) {
    if let Some(tally) = run(test, mode, Catalog::BuiltIn, tree) {
        assert!(tally.passed >= least, "only {tally}");
    }
}

/// Runs the cases of one tree, of which none may fail.
#[track_caller]
fn run(test: &str, mode: Mode, catalog: Catalog, tree: &str) -> Option<CaseTally> {
    let tree = match tree.strip_suffix(".jsonl") {
        Some(_) => Path::new(RECORDED).join(tree),
        None => shared::directory(test)?.join(tree),
    };
    let suite = Suite {
        bin: Path::new(env!("CARGO_BIN_EXE_kiln")),
        fake_docker: None,
        catalog,
        only: None,
        jobs: None,
        mode,
        verbose: false,
    };
    let mut report = Vec::new();
    let tally = suite.run(&[tree], &mut report).expect("runs");
    assert_eq!(tally.failed, 0, "{}", String::from_utf8_lossy(&report));
    Some(tally)
}

#[test]
fn images_are_run_with_kpts_command_lines() {
    // Few cases pass without the images, but how the engine is asked for them is seen in all.
    let test = "images_are_run_with_kpts_command_lines";
    if let Some(tally) = run(test, Mode::Recorded, Catalog::Engine, "kpt") {
        assert!(tally.skipped >= 80, "only {tally}");
    }
}

#[test]
fn kpt_cases_match_to_the_byte() {
    check("kpt_cases_match_to_the_byte", Mode::Recorded, "kpt", 121);
}

#[test]
fn catalog_cases_match_to_the_byte() {
    let test = "catalog_cases_match_to_the_byte";
    check(test, Mode::Recorded, "catalog", 50);
}

#[test]
fn recorded_cases_match_to_the_byte() {
    let test = "recorded_cases_match_to_the_byte";
    check(test, Mode::Recorded, "render.jsonl", 294);
}

#[test]
fn legacy_cases_match_by_value() {
    let test = "legacy_cases_match_by_value";
    check(test, Mode::Recorded, "legacy-run.jsonl", 140);
}

#[test]
fn kpt_cases_are_no_worse_by_default() {
    let test = "kpt_cases_are_no_worse_by_default";
    check(test, Mode::Default, "kpt", 121);
}

#[test]
fn recorded_cases_are_no_worse_by_default() {
    let test = "recorded_cases_are_no_worse_by_default";
    check(test, Mode::Default, "render.jsonl", 279);
}

#[test]
fn legacy_cases_are_no_worse_by_default() {
    let test = "legacy_cases_are_no_worse_by_default";
    check(test, Mode::Default, "legacy-run.jsonl", 118);
}

#[test]
fn pkg_cases_match_to_the_byte() {
    let test = "pkg_cases_match_to_the_byte";
    if std::process::Command::new("git")
        .arg("version")
        .output()
        .is_err()
    {
        return crate::faults::skip(test, "git is not there");
    }
    check(test, Mode::Recorded, "pkg.jsonl", 93);
}
