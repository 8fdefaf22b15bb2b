//! Values of Secrets in texts.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kiln_yaml::{Document, parse};

use super::{SecretMask, SecretValues, may_have_secrets, secret_entries};
use crate::package::WriteError;
use crate::results::{Field, File, FunctionResult, ResourceRef, ResultItem, Severity};

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
        severity: "plain-value".to_owned(),
        resource_ref: Some(ResourceRef {
            api_version: "hunter2/v1".to_owned(),
            kind: "hunter2".to_owned(),
            name: "plain-value".to_owned(),
            namespace: "plain-value-of-a-namespace".to_owned(),
        }),
        field: Some(Field {
            path: "data.hunter2".to_owned(),
            current_value: "aHVudGVyMg==".to_owned(),
            proposed_value: "plain-value".to_owned(),
        }),
        file: Some(File {
            path: "hunter2.yaml".to_owned(),
            index: 0,
        }),
        tags: [("hunter2".to_owned(), "hunter2".to_owned())].into(),
    };
    let mut result = FunctionResult {
        stderr: "got hunter2\n".to_owned(),
        results: vec![item],
        ..FunctionResult::default()
    };
    // A resource has such a name, which is no secret.
    mask.mask_result(&mut result, |text| text == "plain-value-of-a-namespace");
    assert_eq!(result.stderr, "got (secret)\n");
    let [item] = &result.results[..] else {
        panic!("{result:?}");
    };
    assert_eq!(item.message, "(secret) is weak");
    assert_eq!(item.severity, "(secret)");
    let expected = ResourceRef {
        api_version: "(secret)/v1".to_owned(),
        kind: "(secret)".to_owned(),
        name: "(secret)".to_owned(),
        namespace: "plain-value-of-a-namespace".to_owned(),
    };
    assert_eq!(item.resource_ref, Some(expected));
    assert_eq!(item.tags["(secret)"], "(secret)");
    let field = item.field.as_ref().unwrap();
    assert_eq!(field.path, "data.(secret)");
    assert_eq!(field.current_value, "(secret)");
    assert_eq!(field.proposed_value, "(secret)");
    assert_eq!(item.file.as_ref().unwrap().path, "(secret).yaml");
}

/// Even if a value is such a word.
#[test]
fn known_severities_are_not_masked() {
    let mask = mask_of("warning");
    let mut result = FunctionResult {
        results: vec![ResultItem::new(Severity::Warning, "a warning")],
        ..FunctionResult::default()
    };
    mask.mask_result(&mut result, |_| false);
    assert_eq!(result.results[0].severity, "warning");
    assert_eq!(result.results[0].message, "a (secret)");
}

#[test]
fn errors_of_a_write_are_masked() {
    let mask = mask_of("hunter2");
    let index = |index: &str| WriteError::Index {
        index: index.to_owned(),
        reason: kiln_go::atoi(index).unwrap_err(),
    };
    let path = || "a/hunter2.yaml".to_owned();
    for error in [
        index("hunter2"),
        WriteError::Outside {
            package: "/pkg".to_owned(),
            path: path(),
        },
        WriteError::Directory(path()),
        WriteError::NulInPath(path()),
        WriteError::PathTooLong(path()),
        WriteError::NotRead(path()),
        WriteError::GitFile(path()),
    ] {
        let message = mask.mask_write_error(error).to_string();
        assert!(message.contains("(secret)"), "{message}");
        assert!(!message.contains("hunter2"), "{message}");
    }
    assert_eq!(mask.mask_write_error(index("x")), index("x"));
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

/// The most usual spelling of a Secret of all.
#[test]
fn values_are_found_in_base64() {
    // The same in standard input of `base64`, from `printf` and from `echo`.
    for printed in [
        "aHVudGVyMi10ZXh0Pz8+",
        "aHVudGVyMi10ZXh0Pz8-",
        "aHVudGVyMi10ZXh0Pz8+Cg==",
    ] {
        let masked = mask_of("hunter2-text??>").mask(&format!("token: {printed}"));
        assert_eq!(masked, "token: (secret)", "{printed}");
    }
    for printed in ["cGFzc3dvcmQx", "cGFzc3dvcmQxMg==", "cGFzc3dvcmQxMg"] {
        let value = if printed.len() == 12 {
            "password1"
        } else {
            "password12"
        };
        let masked = mask_of(value).mask(printed);
        assert_eq!(masked, "(secret)", "{printed}");
    }
    // In lines, as `base64` prints it.
    let long: String = (0..400).map(|n| format!("{n} ")).collect();
    let encoded = STANDARD.encode(&long);
    let lines = encoded.as_bytes().chunks(76).map(String::from_utf8_lossy);
    let mask = mask_of(&long);
    for line in lines {
        assert_eq!(mask.mask(&line), "(secret)");
    }
    assert_eq!(mask.mask(&encoded), "(secret)");
}

#[test]
fn values_of_settings_are_secret() {
    for value in [
        "DB_USER=app\nDB_PASSWORD=hunter2-db\n",
        "export DB_PASSWORD='hunter2-db' # old\n",
        "[client]\npassword = hunter2-db ; of the server\n",
        "db.url = jdbc:postgresql://h/d?user=app&password=hunter2-db\n",
        "#password=hunter2-db\nport=1\n",
        "db.user=x\ndb.password: hunter2-db\n",
        "Server=h;User Id=sa;Password=hunter2-db;",
        "host=h user=app password=hunter2-db sslmode=off",
        "postgres://app:hunter2-db@h:5432/d?sslmode=off",
        "DATABASE_URL=\"postgres://app:hunter2%2Ddb@h/d\"\n",
        "https://hunter2-db@git.example.com/x.git",
        "*hunter2-db",
    ] {
        let mask = mask_of(value);
        let message = mask.mask("login with hunter2-db failed");
        assert_eq!(message, "login with (secret) failed", "{value}");
    }
    let mask = mask_of("https://app:hunter2-db@h/");
    // A header for basic authentication.
    assert_eq!(mask.mask("Basic YXBwOmh1bnRlcjItZGI="), "Basic (secret)");
    // Keys and hosts are not values, and other texts are no settings.
    let mask = mask_of("DB_PASSWORD=hunter2-db\nhttps://example.com/a@b\n");
    assert_eq!(
        mask.mask("DB_PASSWORD example.com"),
        "DB_PASSWORD example.com"
    );
}

#[test]
fn shortened_values_are_secret() {
    let message = "cannot unmarshal !!str `hunter2...` into int";
    let masked = mask_of("hunter2-text").mask(message);
    assert_eq!(masked, "cannot unmarshal !!str `(secret)` into int");
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
    for value in [
        deep,
        quotes,
        "a: ".repeat(30_000),
        "\\'".repeat(50_000),
        "a=".repeat(50_000),
        "a=b ".repeat(30_000),
        "a://b:c@".repeat(15_000),
    ] {
        assert_eq!(mask_of(&value).mask("plain"), "plain");
    }
}
