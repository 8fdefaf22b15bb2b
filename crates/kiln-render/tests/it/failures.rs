//! What a render does when something goes wrong.

use kiln_render::RenderCompat;

use crate::setup::{config_map, fail, kptfile, pass, rendered, replace};

const PIPELINE: &str = "pipeline:\n  mutators:\n  - exec: replace\n  - exec: fail\n";

#[test]
fn a_failure_changes_the_status_only() {
    let after = rendered(
        RenderCompat::Kiln,
        &[
            ("Kptfile", &kptfile("r", PIPELINE)),
            ("a.yaml", &config_map("a", "old")),
        ],
        &[("replace", replace), ("fail", fail)],
    );
    assert_eq!(after.changed, ["Kptfile"]);
    assert_eq!(after.message(), "");
    assert!(after.rendered.error.is_some());
    let status = after.file("Kptfile");
    assert!(status.contains("pkg.render: pkg .:\n"), "{status}");
    assert!(
        status.contains("errorSummary: 'fail: exit code 7'"),
        "{status}"
    );
    assert_eq!(after.rendered.results.exit_code, 1);
}

#[test]
fn a_failure_saves_what_there_is_if_asked() {
    let annotated = "  annotations:\n    kpt.dev/save-on-render-failure: \"true\"\n";
    let after = rendered(
        RenderCompat::Kiln,
        &[
            ("Kptfile", &kptfile("r", &format!("{annotated}{PIPELINE}"))),
            ("a.yaml", &config_map("a", "old")),
        ],
        &[("replace", replace), ("fail", fail)],
    );
    assert_eq!(after.changed, ["Kptfile", "a.yaml"]);
    let saved = after.file("a.yaml");
    assert!(
        saved.contains("x: new") && !saved.contains("/id"),
        "{saved}"
    );
}

#[test]
fn an_error_in_results_is_a_failure_but_not_for_kpt() {
    fn complain(input: &str) -> (i32, String, &'static str) {
        (
            0,
            format!("{input}results:\n- message: bad\n  severity: error\n"),
            "",
        )
    }
    let pipeline = "pipeline:\n  validators:\n  - exec: complain\n";
    let root = kptfile("r", pipeline);
    let files = [("Kptfile", root.as_str())];
    let after = rendered(RenderCompat::Kiln, &files, &[("complain", complain)]);
    assert_eq!(
        after.message(),
        "Error: function \"complain\" reported 1 error(s) in its results "
    );
    let after = rendered(RenderCompat::Kpt, &files, &[("complain", complain)]);
    assert!(after.rendered.error.is_none());
}

#[test]
fn the_exit_code_counts_more_than_garbage_but_not_for_kpt() {
    fn garbage(_: &str) -> (i32, String, &'static str) {
        (3, "a: b: c".to_owned(), "why")
    }
    let root = kptfile("r", "pipeline:\n  mutators:\n  - exec: garbage\n");
    let files = [("Kptfile", root.as_str())];
    let after = rendered(RenderCompat::Kiln, &files, &[("garbage", garbage)]);
    assert_eq!(after.message(), "");
    assert!(after.file("Kptfile").contains("exitCode: 3"));
    let after = rendered(RenderCompat::Kpt, &files, &[("garbage", garbage)]);
    assert!(after.message().contains("MalformedYAMLError"));
}

#[test]
fn the_chain_of_causes_names_the_package() {
    let after = rendered(
        RenderCompat::Kpt,
        &[
            ("Kptfile", &kptfile("r", "")),
            ("a/Kptfile", &kptfile("a", "")),
            (
                "a/b/Kptfile",
                &kptfile("b", "pipeline:\n  mutators:\n  - exec: fail\n"),
            ),
        ],
        &[("fail", fail)],
    );
    let status = after.file("Kptfile");
    let chain =
        "pkg.render: pkg a:\n        \tpkg a/b:\n        \tpipeline.run: already handled error\n";
    assert!(status.contains(chain), "{status}");
}

#[test]
fn every_mutator_is_found_before_the_first_runs() {
    let root = kptfile(
        "r",
        "pipeline:\n  mutators:\n  - exec: pass\n  - exec: nowhere\n",
    );
    let after = rendered(RenderCompat::Kiln, &[("Kptfile", &root)], &[("pass", pass)]);
    assert_eq!(after.log, ["package root"]);
    assert_eq!(after.message(), "Error: function \"nowhere\" not found ");
}

#[test]
fn a_path_that_leads_out_is_refused() {
    fn escape(input: &str) -> (i32, String, &'static str) {
        (0, input.replace("a.yaml", "../a.yaml"), "")
    }
    let after = rendered(
        RenderCompat::Kiln,
        &[
            (
                "Kptfile",
                &kptfile("r", "pipeline:\n  mutators:\n  - exec: escape\n"),
            ),
            ("a.yaml", &config_map("a", "old")),
        ],
        &[("escape", escape)],
    );
    let message = "Error: function must not modify resources outside of package: resource has path ../a.yaml ";
    assert_eq!(after.message(), message);
    assert_eq!(after.changed, ["Kptfile"]);
}
