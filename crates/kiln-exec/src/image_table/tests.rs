//! Configurations, good and bad.

use std::path::Path;

use super::ImageTable;

const PREFIX: &str = "ghcr.io/kptdev/krm-functions-catalog";

fn parse(text: &str) -> ImageTable {
    ImageTable::parse(text.as_bytes(), Path::new("/functions")).expect("a configuration")
}

#[track_caller]
fn check_wrong(text: &str, wanted: &str) {
    let error = ImageTable::parse(text.as_bytes(), Path::new("/functions")).err();
    assert_eq!(
        error.map(|error| error.to_string()).as_deref(),
        Some(wanted)
    );
}

#[test]
fn images_map_to_programs() {
    let table = parse(
        "functions:\n- function: a\n  images: [x/a:v1, 'x/a@sha256:0123', a:v2]\n- function: b\n  images:\n  - x/b\n",
    );
    let find = |image| table.find(image, PREFIX).and_then(Path::to_str);
    assert_eq!(find("x/a:v1"), Some("/functions/a"));
    assert_eq!(find("x/a@sha256:0123"), Some("/functions/a"));
    assert_eq!(find("a:v2"), Some("/functions/a"));
    assert_eq!(find("x/b"), Some("/functions/b"));
    assert_eq!(find("x/a:v2"), None);
    assert_eq!(find("x/a"), None);
    assert_eq!(table.len(), 4);
}

#[test]
fn the_first_mapping_wins_and_the_others_are_reported() {
    let table =
        parse("functions:\n- function: a\n  images: [x]\n- function: b\n  images: [x, x]\n");
    assert_eq!(table.find("x", ""), Some(Path::new("/functions/a")));
    assert_eq!(table.duplicates().len(), 2);
    assert_eq!(table.duplicates()[0].ignored, Path::new("/functions/b"));
}

#[test]
fn names_without_a_registry_have_the_prefix() {
    let table = parse(&format!(
        "functions:\n- function: a\n  images: ['{PREFIX}/a:v1']\n"
    ));
    assert!(table.find("a:v1", PREFIX).is_some());
    assert!(table.find("a:v1", "").is_none());
    assert!(table.find("x/a:v1", PREFIX).is_none());
}

#[test]
fn a_digest_identifies_the_image_whatever_the_tag() {
    let digest = format!("sha256:{}", "0".repeat(64));
    let table = parse(&format!(
        "functions:\n- function: a\n  images: ['x.io/a@{digest}']\n"
    ));
    assert!(table.find(&format!("x.io/a:v1@{digest}"), "").is_some());
    assert!(table.find("x.io/a:v1", "").is_none());
}

#[test]
fn programs_stay_below_the_root_as_go_joins_them() {
    let table =
        parse("functions:\n- {function: /bin/x, images: [a]}\n- {function: ../y, images: [b]}\n");
    assert_eq!(table.find("a", ""), Some(Path::new("/functions/bin/x")));
    assert_eq!(table.find("b", ""), Some(Path::new("/y")));
}

#[test]
fn an_empty_file_is_an_empty_configuration() {
    for text in [
        "",
        "# comment\n",
        "functions:\n",
        "functions: []\n",
        "other: 1\n",
    ] {
        assert!(parse(text).is_empty(), "{text:?}");
    }
    assert!(parse("functions:\n- function: a\n").is_empty());
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    check_wrong("- a\n", "line 1: the configuration must be a mapping");
    check_wrong("functions: x\n", "line 1: functions must be a list");
    check_wrong(
        "functions:\n- x\n",
        "line 2: functions[0] must be a mapping with function and images",
    );
    check_wrong(
        "functions:\n- images: [a]\n",
        "line 2: functions[0].function must be the name of a program",
    );
    check_wrong(
        "functions:\n- function: a\n  images: x\n",
        "line 3: functions[0].images must be a list",
    );
    check_wrong(
        "functions:\n- function: a\n  images:\n  - {}\n",
        "line 4: functions[0].images[0] must be the reference of an image",
    );
    let error = ImageTable::parse(b"a: [", Path::new("/")).expect_err("no YAML");
    assert!(error.to_string().starts_with("yaml: line 1: "), "{error}");
}
