//! Every format of one run, compared with files.

use std::path::Path;

use kiln_pages::report::ReportFormat;

use crate::sample::failed_run;

#[test]
fn formats_of_a_failed_run() {
    for name in [
        "report.html",
        "report.md",
        "report.sarif",
        "report.junit.xml",
        "report.codequality.json",
        "report.trace.json",
        "report.json",
    ] {
        let format = ReportFormat::of_file(name).unwrap();
        check_golden(name, &format.write(&failed_run()));
    }
}

#[test]
fn unknown_endings_are_refused() {
    let error = ReportFormat::of_file("report.pdf").unwrap_err();
    assert_eq!(
        error.to_string(),
        "the format of the report \"report.pdf\" is unknown"
    );
}

/// Compares with a file of the repository, or writes it if `KILN_UPDATE` is set.
#[track_caller]
pub(crate) fn check_golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    if std::env::var_os("KILN_UPDATE").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        text == expected,
        "set KILN_UPDATE=1 to accept the change of {name}"
    );
}
