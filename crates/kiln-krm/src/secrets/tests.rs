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
