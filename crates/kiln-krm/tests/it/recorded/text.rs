//! Paths.

use kiln_krm::paths;

use super::{Report, fixture, text};

#[test]
fn paths_are_cleaned_like_go() {
    let mut report = Report::default();
    for case in fixture(include_str!("../../fixtures/paths.jsonl")) {
        let path = text(&case, "in").unwrap_or_default();
        let what = |which| format!("{which} of {path:?}");
        report.check(
            &what("clean"),
            Some(paths::clean(path).as_str()),
            text(&case, "clean"),
        );
        report.check(&what("base"), Some(paths::base(path)), text(&case, "base"));
        report.check(
            &what("directory"),
            Some(paths::directory(path).as_str()),
            text(&case, "dir"),
        );
        report.check(
            &what("join"),
            Some(paths::join(&[path, "x"]).as_str()),
            text(&case, "join"),
        );
    }
    report.finish();
}
