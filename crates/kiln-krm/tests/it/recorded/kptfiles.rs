//! Decoding Kptfiles and writing them from their decoded form.

use kiln_krm::kptfile::{Kptfile, KptfileError};

use super::{Report, fixture, text};

#[test]
fn kptfiles_are_decoded_and_written_like_kpt() {
    check(include_str!("../../fixtures/kptfiles.jsonl"));
}

#[test]
fn kptfiles_with_render_status_are_written_like_kpt() {
    check(include_str!("../../fixtures/rendered_kptfiles.jsonl"));
}

#[track_caller]
fn check(cases: &str) {
    let mut report = Report::default();
    for case in fixture(cases) {
        let input = text(&case, "in").unwrap_or_default();
        match Kptfile::read(input.as_bytes()) {
            Ok(kptfile) => {
                report.check(&format!("error of\n{input}"), None, text(&case, "error"));
                let yaml = kptfile.to_struct_yaml();
                report.check(
                    &format!("text of\n{input}"),
                    Some(yaml.as_str()),
                    text(&case, "yaml"),
                );
            }
            Err(problem) => {
                let what = format!("error of\n{input}");
                report.check(
                    &what,
                    Some(problem.to_string().as_str()),
                    text(&case, "error"),
                );
                let error = KptfileError {
                    path: "/p".to_owned(),
                    problem,
                };
                report.check(
                    &what,
                    Some(error.to_string().as_str()),
                    text(&case, "message"),
                );
                report.check(
                    &what,
                    Some(error.chain_text().as_str()),
                    text(&case, "chain"),
                );
            }
        }
    }
    report.finish();
}
