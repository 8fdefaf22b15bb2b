//! Values of Secrets in texts.

use kiln_yaml::{Document, parse};

use super::{SecretMask, SecretValues, may_have_secrets, secret_entries};
use crate::results::{Field, FunctionResult, ResultItem};

fn document(text: &str) -> Document {
    parse(text).unwrap().unwrap()
}

fn mask(text: &str) -> SecretMask {
    let mut secrets = SecretValues::default();
    secrets.add_document(&document(text));
    secrets.into_mask()
}

#[test]
fn everything_that_a_function_reports_is_masked() {
    let mask = mask("kind: Secret\ndata: {a: aHVudGVyMg==}\nstringData: {b: plain-value}\n");
    let item = ResultItem {
        message: "hunter2 is weak".to_owned(),
        field: Some(Field {
            path: "data.a".to_owned(),
            current_value: "aHVudGVyMg==".to_owned(),
            proposed_value: "plain-value".to_owned(),
        }),
        tags: [("value".to_owned(), "hunter2".to_owned())].into(),
        ..ResultItem::default()
    };
    let mut result = FunctionResult {
        stderr: "got hunter2\n".to_owned(),
        results: vec![item],
        ..FunctionResult::default()
    };
    mask.mask_result(&mut result);
    assert_eq!(result.stderr, "got (secret)\n");
    let [item] = &result.results[..] else {
        panic!("{result:?}");
    };
    assert_eq!(item.message, "(secret) is weak");
    assert_eq!(item.tags["value"], "(secret)");
    let field = item.field.as_ref().unwrap();
    assert_eq!(field.path, "data.a");
    assert_eq!(field.current_value, "(secret)");
    assert_eq!(field.proposed_value, "(secret)");
}

#[test]
fn marked_configurations_are_secret() {
    let text = "\
kind: ConfigMap
metadata:
  name: settings
  annotations: {kiln.dev/secret: 'true'}
data:
  token: first-value
spec:
  list: [second-value, {deep: third-value}]
";
    let marked = document(text);
    let entries = secret_entries(marked.root()).into_iter();
    let entries: Vec<(&str, &str)> = entries
        .map(|(key, value)| (key.value(), value.value()))
        .collect();
    let expected = [
        ("token", "first-value"),
        ("list", "second-value"),
        ("deep", "third-value"),
    ];
    assert_eq!(entries, expected);
    let printed = "first-value of settings, third-value";
    assert_eq!(mask(text).mask(printed), "(secret) of settings, (secret)");
    let unmarked = text.replace("'true'", "'false'");
    assert_eq!(mask(&unmarked).mask(printed), printed);
}

#[test]
fn documents_that_may_have_secrets() {
    for text in [
        "kind: Secret\ndata: [",
        "{\"kind\": \"Secret\", ",
        "a: [\n'kind' : 'Secret'",
        "kind: X\nmetadata: {annotations: {kiln.dev/secret: ",
    ] {
        assert!(may_have_secrets(text.as_bytes()), "{text}");
    }
    for text in [
        "kind: SecretStore\n",
        "kind: Deployment\nimagePullSecrets: [",
        "secret: kind\n",
        "",
    ] {
        assert!(!may_have_secrets(text.as_bytes()), "{text}");
    }
}

/// A Secret with one value, given as JSON, which YAML reads as well.
fn mask_of(value: &str) -> SecretMask {
    mask(&format!(
        "kind: Secret\nstringData: {{key: {}}}\n",
        kiln_go::json_string(value)
    ))
}

#[test]
fn values_are_found_however_a_structure_spells_them() {
    for (value, printed) in [
        (r#"hun"ter2"#, r#"{"key": "hun\"ter2"}"#),
        (r"hun\ter2", r#"{"key": "hun\\ter2"}"#),
        ("hun\tter2", r#"{"key": "hun\tter2"}"#),
        ("hun<ter2", r#"{"key": "hun\u003cter2"}"#),
        ("hun<ter2", r#"{"key": "hun<ter2"}"#),
        ("hunt\u{e9}r2", r#"{"key": "hunt\u00e9r2"}"#),
        ("hunter\u{1f600}", r#"{"key": "hunter\ud83d\ude00"}"#),
        ("it's hunter2", r"{'key': 'it\'s hunter2'}"),
        ("it's hunter2", "key: 'it''s hunter2'"),
        (r#"hun"ter2\"#, r#"{'key': 'hun"ter2\\'}"#),
        // A structure as a text of another one.
        (
            r#"hun"ter2"#,
            r#"{"message": "{\"key\": \"hun\\\"ter2\"}"}"#,
        ),
        ("hunter2\nhunter3", r#"{"key": "hunter2\nhunter3"}"#),
    ] {
        let masked = mask_of(value).mask(printed);
        assert!(masked.contains("(secret)"), "{printed}: {masked}");
        assert!(
            !masked.contains("hun") && !masked.contains("ter"),
            "{printed}: {masked}"
        );
    }
}

#[test]
fn values_in_values_are_secret() {
    let config =
        r#"{"auths":{"ghcr.io":{"username":"robot","password":"hunter2-registry","port":5000}}}"#;
    let encoded = "eyJhIjogWyJodW50ZXIyLXJlZ2lzdHJ5Il19"; // {"a": ["hunter2-registry"]}
    for value in [
        config,
        encoded,
        "url: x\npassword: hunter2-registry\n",
        "- hunter2-registry\n",
        &kiln_go::json_string(config),
    ] {
        let mask = mask_of(value);
        let message = mask.mask("login with hunter2-registry failed");
        assert_eq!(message, "login with (secret) failed", "{value}");
        let printed = mask.mask(&format!("not allowed: {}", kiln_go::json_string(value)));
        assert!(!printed.contains("hunter2"), "{printed}");
    }
    // Keys are not values.
    assert_eq!(mask_of(config).mask("username"), "username");
}

#[test]
fn a_long_value_is_one_secret() {
    let value: String = (0..2000).map(|n| format!("{n}\u{e9}\"")).collect();
    let mask = mask_of(&value);
    assert_eq!(mask.mask(&format!("is {value}.")), "is (secret).");
    let printed = kiln_go::json_string(&value);
    assert_eq!(mask.mask(&printed), "\"(secret)\"");
    // A program may print the first part.
    let part: String = value.chars().take(1000).collect();
    assert!(mask.mask(&part).starts_with("(secret)"));
}

/// Building the search took a time that grew with the square of the length.
#[test]
fn no_value_makes_a_search_too_long() {
    let deep = "[".repeat(100_000);
    let quotes = "\"".repeat(100_000);
    for value in [deep, quotes, "a: ".repeat(30_000), "\\'".repeat(50_000)] {
        assert_eq!(mask_of(&value).mask("plain"), "plain");
    }
}
