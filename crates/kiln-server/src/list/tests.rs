//! Valid and invalid lists.

use super::{is_plain_list, looks_like_list, read, read_answer, results_part};
use crate::options::Words;

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
fn results_are_formatted() {
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
fn an_empty_request_is_an_empty_list() {
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
fn invalid_lists_have_the_errors_of_the_sdk() {
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
        "failed to parse input bytes: expected exactly one object, got 2",
    );
    let error = read("a: [").expect_err("no YAML").to_string();
    let start = "failed to parse input bytes: failed to parse input bytes: yaml: line 1: ";
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
    for results in ["- a", "- message: [b]", "- file: c"] {
        let text = format!("kind: ResourceList\nresults:\n{results}\n");
        let not_plain = format!("{text}# not plain\n");
        let error = read(&not_plain).expect_err("no results").to_string();
        check_wrong(&text, &error);
    }
}

/// The answers of Porch's wrapper, recorded with version 1.0.2 of the SDK; `H` stands for the first two fields. An
/// empty text stands for a valid list.
const ANSWERS: &[(&str, &str)] = &[
    ("", "P: expected exactly one object, got 0"),
    ("\n", "P: expected exactly one object, got 0"),
    (" ", "P: expected exactly one object, got 0"),
    ("\r\n", "P: expected exactly one object, got 0"),
    ("# c\n", "P: expected exactly one object, got 0"),
    ("# c", "P: expected exactly one object, got 0"),
    ("\u{feff}", "P: expected exactly one object, got 0"),
    (
        "---\n",
        "P: failed to extract objects: unhandled node kind 8",
    ),
    ("---", "P: failed to extract objects: unhandled node kind 8"),
    (
        "---\n# c\n---\n",
        "P: failed to extract objects: unhandled node kind 8",
    ),
    (
        "null\n",
        "P: failed to extract objects: unhandled node kind 8",
    ),
    (
        "abc\n",
        "P: failed to extract objects: unhandled node kind 8",
    ),
    (
        "- a\n",
        "P: failed to extract objects: unhandled node kind 2",
    ),
    (
        "[]\n",
        "P: failed to extract objects: unhandled node kind 2",
    ),
    (
        "\t\n",
        "P: P: yaml: found character that cannot start any token",
    ),
    (
        "{}\n",
        "input was of unexpected kind \"\"; expected ResourceList",
    ),
    (
        "kind: 1\n",
        "input was of unexpected kind \"\"; expected ResourceList",
    ),
    (
        "kind: [a]\n",
        "input was of unexpected kind \"\"; expected ResourceList",
    ),
    (
        "kind: List\nitems: []\n",
        "input was of unexpected kind \"List\"; expected ResourceList",
    ),
    (
        "Hitems: []\n---\nHitems: []\n",
        "P: expected exactly one object, got 2",
    ),
    (
        "Hitems: []\n---\n",
        "P: failed to extract objects: unhandled node kind 8",
    ),
    (
        "Hitems: []\n---\ngarbage\n",
        "P: failed to extract objects: unhandled node kind 8",
    ),
    (
        "Hitems: []\ngarbage\n",
        "P: P: yaml: line 4: could not find expected ':'",
    ),
    (
        "Hitems: []\n}\n",
        "P: P: yaml: line 3: did not find expected key",
    ),
    (
        "Hitems:\n",
        "failed when tried to get items: incorrect type, was *internal.scalarVariant",
    ),
    (
        "Hitems: null\n",
        "failed when tried to get items: incorrect type, was *internal.scalarVariant",
    ),
    (
        "Hitems:\n# only a comment\n",
        "failed when tried to get items: incorrect type, was *internal.scalarVariant",
    ),
    (
        "Hitems:\nresults: []\n",
        "failed when tried to get items: incorrect type, was *internal.scalarVariant",
    ),
    (
        "Hitems: ''\n",
        "failed when tried to get items: incorrect type, was *internal.scalarVariant",
    ),
    (
        "H'items':\n",
        "failed when tried to get items: incorrect type, was *internal.scalarVariant",
    ),
    (
        "Hitems: abc\n",
        "failed when tried to get items: incorrect type, was *internal.scalarVariant",
    ),
    (
        "{\"kind\": \"ResourceList\", \"items\": null}",
        "failed when tried to get items: incorrect type, was *internal.scalarVariant",
    ),
    (
        "Hitems: {}\n",
        "failed when tried to get items: incorrect type, was *internal.MapVariant",
    ),
    (
        "H? items\n: {}\n",
        "failed when tried to get items: incorrect type, was *internal.MapVariant",
    ),
    (
        "Hitems:\n  a: b\n",
        "failed when tried to get items: incorrect type, was *internal.MapVariant",
    ),
    (
        "Hitems: {}\nitems: []\n",
        "failed when tried to get items: incorrect type, was *internal.MapVariant",
    ),
    (
        "Hitems:\n- null\n",
        "failed to extract objects from items: unhandled node kind 8",
    ),
    (
        "Hitems:\n-\n- a: b\n",
        "failed to extract objects from items: unhandled node kind 8",
    ),
    (
        "Hitems:\n- a: b\n- c\n",
        "failed to extract objects from items: unhandled node kind 8",
    ),
    (
        "Hitems:\n  - a: b\n  - [a]\n",
        "failed to extract objects from items: unhandled node kind 2",
    ),
    (
        "Hitems:\n- - a: b\n",
        "failed to extract objects from items: unhandled node kind 2",
    ),
    (
        "Hitems: []\nfunctionConfig: abc\n",
        "failed when tried to get functionConfig: wrong type, got: *internal.scalarVariant",
    ),
    (
        "Hitems: []\nfunctionConfig:\n",
        "failed when tried to get functionConfig: wrong type, got: *internal.scalarVariant",
    ),
    (
        "Hitems: []\nfunctionConfig:\n  abc\n",
        "failed when tried to get functionConfig: wrong type, got: *internal.scalarVariant",
    ),
    (
        "Hitems: []\nfunctionConfig: []\n",
        "failed when tried to get functionConfig: wrong type, got: *internal.SliceVariant",
    ),
    ("H", ""),
    ("---\nHitems: []\n", ""),
    ("\u{feff}Hitems: []\n", ""),
    ("Hitems: []\n...\n", ""),
    ("Hitems: []\n", ""),
    ("Hitems: [{a: b}]\n", ""),
    ("Hitems:\n- {}\n", ""),
    ("Hitems:\n- a: b\n  c:\n  - d\n- e: |\n    - f\n", ""),
    (
        "Hitems:\n  # c\n  - a:\n    - b\n  - c: d\nfunctionConfig:\n  e: f\n",
        "",
    ),
    ("Hitems:\n- a: b\nitems: {}\n", ""),
    ("Hitems: []\nkind: List\n", ""),
    ("apiVersion: v1\nkind: ResourceList\nitems: []\n", ""),
    ("kind: \"ResourceList\" # c\nitems: []\n", ""),
    ("Hitems: []\nfunctionConfig: {}\n", ""),
    ("Hitems: []\nresults: abc\n", ""),
    ("Hitems: []\nresults: {}\n", ""),
    ("Hitems: []\nresults:\n", ""),
    ("Hitems: []\nresults: 1\n", ""),
    ("Hitems: []\nresults: {items: []}\n", ""),
    ("Hitems: []\nresults:\n- message: 1\n", ""),
];

const HEAD: &str = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n";

#[test]
fn answers_are_read_as_the_wrapper_of_porch_reads_them() {
    for (answer, wanted) in ANSWERS {
        let answer = answer.replace('H', HEAD);
        let wanted = wanted.replace("P: ", "failed to parse input bytes: ");
        let read = read_answer(answer.as_bytes(), Words::Wrapper);
        let error = read.err().map(|error| error.to_string());
        assert_eq!(error.unwrap_or_default(), wanted, "{answer:?}");
    }
    let error = read_answer(b"kind: ResourceList\nitems: []\na: \xff\n", Words::Wrapper);
    assert_eq!(
        error.expect_err("not UTF-8").to_string(),
        "failed to parse input bytes: failed to parse input bytes: yaml: invalid leading UTF-8 octet"
    );
}

#[test]
fn results_of_another_shape_are_those_of_the_sdk() {
    let list = |results: &str| format!("{HEAD}items: []\nresults: {results}\n");
    let read = |results: &str| read_answer(list(results).as_bytes(), Words::Wrapper);
    let older = read("{items: [{message: a, severity: error}]}").expect("results");
    assert!(older.has_errors());
    assert_eq!(older.message(), "[error]: a");
    let error = read("{items: abc}").expect_err("no list").to_string();
    let wanted = "failed when trying to get results: incorrect type, was *internal.scalarVariant";
    assert_eq!(error, wanted);
    for results in ["[abc]", "[{message: [a]}]", "[{file: abc}]"] {
        let error = read(results).expect_err("no results").to_string();
        assert!(error.starts_with("failed to decode results: "), "{error}");
    }
}

#[test]
fn the_runner_loses_no_resources_and_passes_on_configurations() {
    for (answer, wanted) in ANSWERS {
        let answer = answer.replace('H', HEAD);
        let read = read_answer(answer.as_bytes(), Words::Runner);
        let is_lenient = wanted.contains("functionConfig");
        assert_eq!(read.is_ok(), wanted.is_empty() || is_lenient, "{answer:?}");
    }
}

#[test]
fn a_plain_answer_is_a_good_one() {
    let plain = "items:\n- a: b\n  c: |\n    - d\n- e:\n  - f\n";
    assert!(super::is_plain_answer(&format!("{HEAD}{plain}")));
    for (answer, wanted) in ANSWERS {
        let answer = answer.replace('H', HEAD);
        if is_plain_list(&answer) && super::is_plain_answer(&answer) {
            assert_eq!(*wanted, "", "{answer:?}");
        }
    }
}
