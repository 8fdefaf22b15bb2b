//! Lists and what is none.

use super::{is_plain_list, looks_like_list, read, results_part};

const LIST: &str = "\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items: []
results:
- message: replicas is missing
  severity: error
  resourceRef:
    apiVersion: apps/v1
    kind: Deployment
    namespace: ns
    name: web
  field:
    path: spec.replicas
- message: fine otherwise
";

#[track_caller]
fn check_wrong(text: &str, wanted: &str) {
    let error = read(text).err().map(|error| error.to_string());
    assert_eq!(error.as_deref(), Some(wanted), "{text:?}");
}

#[test]
fn results_are_put_into_words() {
    let not_plain = format!("{LIST}# the end\n");
    assert!(is_plain_list(LIST) && !is_plain_list(&not_plain));
    for list in [LIST, &not_plain] {
        let results = read(list).expect("a list");
        assert!(results.has_errors());
        assert_eq!(
            results.message(),
            "[error] apps/v1/Deployment/ns/web spec.replicas: replicas is missing\n\n\
             [info]: fine otherwise"
        );
        assert!(results.text.starts_with("- message: replicas is missing\n"));
        assert!(results.text.ends_with("- message: fine otherwise\n"));
    }
}

#[test]
fn nothing_is_an_empty_list() {
    let results = read(" \n").expect("a list");
    assert!(!results.has_errors() && results.message().is_empty());
}

#[test]
fn lists_in_json_are_lists() {
    let text = "{\"kind\": \"ResourceList\", \"items\": []}";
    assert!(!looks_like_list(text));
    assert!(read(text).is_ok());
}

#[test]
fn what_is_no_list_is_said_in_words_of_the_sdk() {
    check_wrong(
        "kind: List\nitems: []\n",
        "input was of unexpected kind \"List\"; expected ResourceList",
    );
    check_wrong(
        "a: b\n",
        "input was of unexpected kind \"\"; expected ResourceList",
    );
    check_wrong(
        "a: b\n---\na: b\n",
        "failed to parse ResourceList as a single KubeObject: expected exactly one object, got 2",
    );
    let error = read("a: [").expect_err("no YAML").to_string();
    let start = "failed to parse ResourceList as a single KubeObject: failed to parse input bytes: yaml: line 1: ";
    assert!(error.starts_with(start), "{error}");
}

#[test]
fn a_kind_elsewhere_does_not_make_a_list() {
    assert!(!looks_like_list("  kind: ResourceList\n"));
    assert!(!looks_like_list("kind: ResourceListOfMine\n"));
    assert!(looks_like_list("items: []\r\nkind: ResourceList\r\n"));
}

#[test]
fn most_lists_are_plain() {
    let texts = [
        "kind: ResourceList",
        "items:\nkind: ResourceList\n\n",
        "# from a program\napiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- kind: List\n  a: |\n    kind: X\n",
    ];
    for text in texts {
        assert!(is_plain_list(text), "{text:?}");
        assert!(read(&format!("{text}\n# not plain\n")).is_ok(), "{text:?}");
    }
}

#[test]
fn what_is_not_plain_has_to_be_parsed() {
    let texts = [
        "",
        "a: b\n",
        "kind: List\n",
        "kind: ResourceLists\n",
        "kind: ResourceList # really\n",
        "kind:\n  ResourceList\n",
        "items:\n- kind: ResourceList\n",
        "a: |\n  x\n\n  kind: ResourceList\n",
        "kind: ResourceList\nkind: List\n",
        "kind: List\nkind: ResourceList\n",
        "kind: ResourceList\n---\na: b\n",
        "kind: ResourceList\nitems: [\n",
        "kind: ResourceList\na: \"\nkind: ResourceList\nb: \"\n",
    ];
    for text in texts {
        assert!(!is_plain_list(text), "{text:?}");
    }
}

#[test]
fn results_end_where_the_next_field_begins() {
    let part = "results:\n- message: |\n    a\n\n    b\n# between\n- {}\n";
    for text in [
        part.to_owned(),
        format!("kind: ResourceList\nresults:a: b\n{part}"),
        format!("{part}kind: ResourceList\n"),
        format!("items:\n- results: x\n{part}items:\n- a: b\n"),
    ] {
        assert_eq!(results_part(&text), Some(part), "{text:?}");
    }
    assert_eq!(results_part("items:\n- results: x\n"), None);
}

#[test]
fn wrong_results_are_wrong_in_plain_lists_too() {
    let text = "kind: ResourceList\nresults: a\n";
    let not_plain = format!("{text}# not plain\n");
    let error = read(&not_plain).expect_err("no results").to_string();
    check_wrong(text, &error);
}
