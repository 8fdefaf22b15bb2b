//! Values of Secrets do not reach any format.

use kiln_pages::report::{
    ReportFormat, ReportInput, ReportModel, ReportProblem, SecretValues, build,
};

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

const FORMATS: [ReportFormat; 6] = [
    ReportFormat::Html,
    ReportFormat::Markdown,
    ReportFormat::Sarif,
    ReportFormat::Junit,
    ReportFormat::TraceEvents,
    ReportFormat::Data,
];

#[track_caller]
fn check_formats(model: &ReportModel) {
    for format in FORMATS {
        let text = format.write(model);
        for value in VALUES {
            assert!(!text.contains(value), "{format:?} contains {value}");
        }
    }
}

fn collected(text: &str) -> SecretValues {
    let mut secrets = SecretValues::default();
    secrets.add_file(text.as_bytes());
    secrets
}

/// A run whose every text contains a value, and no file changed.
fn failed_run(secrets: SecretValues) -> ReportModel {
    let mut step = validate();
    step.function = "./login --password hunter2-hunter2".to_owned();
    step.result.stderr = "connecting as admin-user".to_owned();
    step.result.results[0].message = "YWRtaW4tdXNlcg== is weak".to_owned();
    let problem = ReportProblem {
        severity: "error".to_owned(),
        message: "cannot use line-one-of-token".to_owned(),
        file: None,
        line: None,
        column: None,
        hint: Some("replace hunter2-hunter2".to_owned()),
        step: None,
    };
    build(ReportInput {
        command: vec!["kiln".to_owned(), "admin-user".to_owned()],
        problems: vec![problem],
        steps: vec![step],
        files: vec![changed("map.yaml", "a: b\n", "a: hunter2-hunter2\n")],
        secrets,
        ..input()
    })
}

#[test]
fn values_of_files_that_did_not_change_are_masked_everywhere() {
    let model = failed_run(collected(SECRET));
    check_formats(&model);
    let mut problems = model.problems.iter();
    let own = problems.find(|problem| problem.message.starts_with("cannot use"));
    let own = own.expect("a problem");
    assert_eq!(own.message, "cannot use (secret)");
    assert_eq!(own.hint.as_deref(), Some("replace (secret)"));
    assert_eq!(model.command, ["kiln", "(secret)"]);
}

#[test]
fn values_in_lists_are_found() {
    let item = SECRET.trim_end().replace('\n', "\n  ");
    check_formats(&failed_run(collected(&format!(
        "kind: List\nitems:\n- {item}\n"
    ))));
}

#[test]
fn values_in_a_file_that_cannot_be_parsed_are_found() {
    check_formats(&failed_run(collected(&format!("{SECRET}  bad: [1\n"))));
}

#[test]
fn values_of_variables_and_arguments_are_masked_in_the_command() {
    let words = "kiln fn eval pkg --env A=one-1 -e B=two-2 --env=C=three-3 -eD=four-4 --env E -i x:v1 -- f=five-5 six";
    let model = build(ReportInput {
        command: words.split(' ').map(str::to_owned).collect(),
        ..input()
    });
    assert_eq!(
        model.command.join(" "),
        "kiln fn eval pkg --env A=(secret) -e B=(secret) --env=C=(secret) -eD=(secret) --env E -i x:v1 -- f=(secret) six"
    );
}

#[test]
fn no_format_contains_a_value() {
    check_formats(&run());
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
