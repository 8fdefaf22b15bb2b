//! Values of Secrets do not reach any format.

use kiln_pages::report::{ReportFormat, ReportInput, ReportModel, build};

use crate::sample::{changed, input, validate};

const SECRET: &str = "\
apiVersion: v1
kind: Secret
metadata:
  name: db
data:
  password: aHVudGVyMi1odW50ZXIy
  user: YWRtaW4tdXNlcg==
stringData:
  token: |
    line-one-of-token
    line-two-of-token
";

const VALUES: &[&str] = &[
    "aHVudGVyMi1odW50ZXIy",
    "hunter2-hunter2",
    "YWRtaW4tdXNlcg==",
    "admin-user",
    "line-one-of-token",
    "line-two-of-token",
    "c2Vjb25kLXNlY3JldA==",
    "second-secret",
];

fn run() -> ReportModel {
    let after = SECRET.replace("aHVudGVyMi1odW50ZXIy", "c2Vjb25kLXNlY3JldA==");
    let mut step = validate();
    step.result.stderr = "connecting as admin-user with hunter2-hunter2".to_owned();
    let item = &mut step.result.results[0];
    item.message = "the password second-secret is weak".to_owned();
    item.field.as_mut().unwrap().current_value = "c2Vjb25kLXNlY3JldA==".to_owned();
    item.field.as_mut().unwrap().proposed_value = "line-one-of-token".to_owned();
    build(ReportInput {
        steps: vec![step],
        files: vec![changed("secret.yaml", SECRET, &after)],
        ..input()
    })
}

#[test]
fn no_format_contains_a_value() {
    let model = run();
    for format in [
        ReportFormat::Html,
        ReportFormat::Markdown,
        ReportFormat::Sarif,
        ReportFormat::Junit,
        ReportFormat::TraceEvents,
        ReportFormat::Data,
    ] {
        let text = format.write(&model);
        for value in VALUES {
            assert!(!text.contains(value), "{format:?} contains {value}");
        }
    }
}

#[test]
fn diffs_show_sizes_and_changes() {
    let model = run();
    let diff = &model.files[0].diff;
    assert!(diff.contains("-  password: (20 bytes)"), "{diff}");
    assert!(diff.contains("+  password: (20 bytes, changed)"), "{diff}");
    assert!(!diff.contains("-  user"), "{diff}");
    assert_eq!(
        model.notes,
        ["1 file(s) contain Secrets; their values are not shown."]
    );
}

#[test]
fn files_with_a_byte_order_mark_are_not_shown() {
    let text = format!("\u{feff}{SECRET}");
    let model = build(ReportInput {
        files: vec![changed("secret.yaml", "", &text)],
        ..input()
    });
    for value in VALUES {
        assert!(
            !model.files[0].diff.contains(value),
            "{}",
            model.files[0].diff
        );
    }
}
