//! Values of Secrets do not reach any format.

use kiln_krm::kptfile::{Function, Selector};
use kiln_pages::report::{
    LockFileState, LockInput, ReportFormat, ReportInput, ReportModel, ReportProblem, SecretValues,
    TouchedResource, annotations, build,
};

use crate::sample::{changed, input, set_image, validate};

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

const SERVICE: &str = "\
apiVersion: v1
kind: Service
metadata:
  name: admin-user
spec:
  hunter2-hunter2: line-one-of-token
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

const SECOND: &str = "\
kind: Secret
data:
  password: c2Vjb25kLXNlY3JldA==
";

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

const FORMATS: [ReportFormat; 7] = [
    ReportFormat::Html,
    ReportFormat::Markdown,
    ReportFormat::Sarif,
    ReportFormat::Junit,
    ReportFormat::CodeQuality,
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
    let annotations = annotations(model);
    for value in VALUES {
        assert!(!annotations.contains(value), "{annotations}");
    }
}

fn collected(text: &str) -> SecretValues {
    let mut secrets = SecretValues::default();
    secrets.add_file(text.as_bytes());
    secrets
}

/// A run whose every text contains a value.
fn failed_run(secrets: SecretValues) -> ReportModel {
    let mut step = validate();
    step.package = "admin-user".to_owned();
    step.directory = "admin-user".to_owned();
    step.function = "./login --password hunter2-hunter2".to_owned();
    step.identity = Some("line-two-of-token".to_owned());
    step.result.stderr = "connecting as admin-user".to_owned();
    let result = &mut step.result.results[0];
    result.message = "YWRtaW4tdXNlcg== is weak".to_owned();
    result.resource_ref.as_mut().unwrap().name = "admin-user".to_owned();
    result.field.as_mut().unwrap().path = "spec.hunter2-hunter2".to_owned();
    result.file.as_mut().unwrap().path = "line-one-of-token.yaml".to_owned();
    let selector = Selector {
        name: "hunter2-hunter2".to_owned(),
        labels: [("admin-user".to_owned(), "second-secret".to_owned())].into(),
        ..Selector::default()
    };
    step.declared = Some(Box::new(Function {
        name: "second-secret".to_owned(),
        config_path: "line-two-of-token.yaml".to_owned(),
        config_map: [("a".to_owned(), "hunter2-hunter2".to_owned())].into(),
        selectors: vec![selector.clone()],
        exclusions: vec![selector],
        ..Function::default()
    }));
    let mut touched: TouchedResource = set_image().touched.remove(0);
    touched.id.name = "admin-user".to_owned();
    touched.id.namespace = "hunter2-hunter2".to_owned();
    touched.file = "second-secret.yaml".to_owned();
    step.touched = vec![touched];
    let problem = ReportProblem {
        severity: "error".to_owned(),
        message: "cannot use line-one-of-token".to_owned(),
        file: Some("admin-user.yaml".to_owned()),
        hint: Some("replace hunter2-hunter2".to_owned()),
        ..ReportProblem::default()
    };
    build(ReportInput {
        command: vec!["kiln".to_owned(), "admin-user".to_owned()],
        problems: vec![problem],
        steps: vec![step],
        package: "second-secret".to_owned(),
        directory: "in/admin-user".to_owned(),
        files: vec![
            changed("map.yaml", "a: b\n", "a: hunter2-hunter2\n"),
            changed("admin-user.yaml", "", SERVICE),
        ],
        lock: Some(LockInput {
            file: "admin-user.lock".to_owned(),
            text: Vec::new(),
            state: LockFileState::Complete,
        }),
        secrets,
        ..input()
    })
}

#[test]
fn values_of_files_that_did_not_change_are_masked_everywhere() {
    let mut secrets = collected(SECRET);
    secrets.add_file(SECOND.as_bytes());
    let model = failed_run(secrets);
    check_formats(&model);
    let mut problems = model.problems.iter();
    let own = problems.find(|problem| problem.message.starts_with("cannot use"));
    let own = own.expect("a problem");
    assert_eq!(own.message, "cannot use (secret)");
    assert_eq!(own.hint.as_deref(), Some("replace (secret)"));
    assert_eq!(
        model.steps[0].selectors,
        ["name=(secret), label (secret)=(secret)"]
    );
    assert_eq!(model.files[1].path, "(secret).yaml");
    assert_eq!(model.command, ["kiln", "(secret)"]);
}

#[test]
fn values_in_lists_are_found() {
    let item = |text: &str| text.trim_end().replace('\n', "\n  ");
    let items = [item(SECRET), item(SECOND)].join("\n- ");
    check_formats(&failed_run(collected(&format!(
        "kind: List\nitems:\n- {items}\n"
    ))));
}

#[test]
fn values_in_a_file_that_cannot_be_parsed_are_found() {
    let mut secrets = collected(&format!("{SECRET}  bad: [1\n"));
    secrets.add_file(SECOND.as_bytes());
    check_formats(&failed_run(secrets));
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
        ["The values of Secrets in 1 file are not shown."]
    );
}

#[test]
fn files_in_other_encodings_are_shown_without_values() {
    let marked = format!("\u{feff}{SECRET}");
    let words: Vec<u16> = marked.encode_utf16().collect();
    let little: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let big: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    for bytes in [marked.into_bytes(), little, big] {
        let mut file = changed("secret.yaml", "", "");
        file.after = Some(bytes);
        let model = build(ReportInput {
            files: vec![file],
            ..input()
        });
        let diff = &model.files[0].diff;
        assert!(diff.contains("+  user: (16 bytes, changed)"), "{diff}");
        for value in VALUES {
            assert!(!diff.contains(value), "{diff}");
        }
    }
}

/// The lines that a diff adds for a new file, when a Secret of the package has the value.
#[track_caller]
fn check_diff(value: &str, file: &str, expected: &[&str]) {
    let secret = format!("kind: Secret\nstringData:\n  a: {value}\n");
    let model = build(ReportInput {
        secrets: collected(&secret),
        files: vec![changed("a.yaml", "", file)],
        ..input()
    });
    let lines: Vec<&str> = model.files[0].diff.lines().skip(1).collect();
    assert_eq!(lines, expected);
}

#[test]
fn values_are_masked_however_they_are_written() {
    let quote = r#""it's-\"secret\"-9""#;
    check_diff(
        quote,
        "a: 'it''s-\"secret\"-9'\nb: kept\n",
        &["+a: '(secret)'", "+b: kept"],
    );
    check_diff(
        quote,
        "a: \"x it's-\\\"secret\\\"-9 \\n y\"\n'it''s-\"secret\"-9': b\n",
        &[r#"+a: "x (secret) \n y""#, "+'(secret)': b"],
    );
    check_diff(
        "folded secret words second part-6",
        "a: >-\n  folded secret words\n  second part-6\nb: folded secret\n  words second\n  part-6\nc: d\n",
        &["+a: (secret)", "+b: (secret)", "+c: d"],
    );
    check_diff(
        "one-line-of-it",
        "a: |\n  kept\n  one-line-of-it\n",
        &["+a: |", "+  kept", "+  (secret)"],
    );
}

#[test]
fn secrets_in_lists_are_shown_as_secrets() {
    for (list, kind) in [("List", "  kind: Secret\n"), ("SecretList", "")] {
        let file = format!(
            "kind: {list}\nitems:\n- metadata:\n    name: a\n{kind}  stringData:\n    pin: \"123\"\n"
        );
        check_diff(
            "other-value",
            &file,
            &file
                .lines()
                .map(|line| match line.trim() {
                    "pin: \"123\"" => "+    pin: (3 bytes, changed)".to_owned(),
                    _ => format!("+{line}"),
                })
                .collect::<Vec<_>>()
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>(),
        );
        let model = build(ReportInput {
            files: vec![changed("a.yaml", "", &file)],
            ..input()
        });
        assert_eq!(model.notes.len(), 1, "{:?}", model.notes);
    }
}

#[test]
fn older_values_in_a_secret_are_not_shown() {
    let file = "\
# licence
kind: Secret
metadata:
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{\"stringData\":{\"a\":\"older-value-5\"}}'
  name: a # kept
# commented: value-0
stringData: # value-1
  # a: value-2
  a: b # value-3
  # value-4
---
# kept
a: b
";
    check_diff(
        "other-value",
        file,
        &[
            "+# licence",
            "+kind: Secret",
            "+metadata:",
            "+  annotations:",
            "+    kubectl.kubernetes.io/last-applied-configuration: (36 bytes, changed)",
            "+  name: a # kept",
            "+# commented: value-0",
            "+stringData: # (comment)",
            "+  # (comment)",
            "+  a: (1 byte, changed) # (comment)",
            "+  # (comment)",
            "+---",
            "+# kept",
            "+a: b",
        ],
    );
}

#[test]
fn credentials_in_addresses_are_masked() {
    let mut step = set_image();
    step.result.stderr =
        "at https://bob:urlpass99@git.example/x, ssh://git@host/y, ssh://git:pw-1@host, \
                          https://token-7@host, https://host/a@b and oci://host:5000/c"
            .to_owned();
    let model = build(ReportInput {
        command: vec!["https://u:pw998877@h/x".to_owned()],
        steps: vec![step],
        ..input()
    });
    assert_eq!(
        model.steps[0].stderr,
        "at https://(secret)@git.example/x, ssh://git@host/y, ssh://git:(secret)@host, \
         https://(secret)@host, https://host/a@b and oci://host:5000/c"
    );
    assert_eq!(model.command, ["https://(secret)@h/x"]);
}

#[test]
fn values_are_masked_before_texts_are_cut() {
    let mut step = validate();
    let field = step.result.results[0].field.as_mut().unwrap();
    field.proposed_value = format!("{}hunter2-hunter2", "x".repeat(1_005));
    let model = build(ReportInput {
        steps: vec![step],
        secrets: collected(SECRET),
        ..input()
    });
    let hint = model.problems[0].hint.as_deref().unwrap();
    assert!(!hint.contains("hunter2"), "{hint}");
}
