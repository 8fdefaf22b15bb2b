//! Names are valid for any image.

use super::*;

const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

#[track_caller]
fn check(image: &str, expected_head: &str) {
    let name = pod_name(image, DIGEST, 7, "runner-a");
    let tail = format!("-7-01234567-{}", fingerprint(&["runner-a"], 6));
    assert_eq!(name, format!("{expected_head}{tail}"));
    assert_is_service_name(&name);
}

#[track_caller]
fn assert_is_service_name(name: &str) {
    assert!(name.len() <= 63, "{name} has {} letters", name.len());
    assert!(name.starts_with(|c: char| c.is_ascii_lowercase()), "{name}");
    assert!(!name.ends_with('-'), "{name}");
    let is_good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    assert!(name.chars().all(is_good), "{name}");
}

#[test]
fn names_are_like_porchs() {
    check("gcr.io/kpt-fn/set-namespace:v0.4.1", "set-namespace-v041");
    check("ghcr.io/a/my_fn:1.0", "my-fn-10");
    check("ghcr.io/a/fn", "fn-latest");
    check("localhost:5000/fn:x", "fn-x");
}

#[test]
fn any_image_has_a_valid_name() {
    check("ghcr.io/a/7zip:V1.2_Beta", "fn-7zip-v12-beta");
    check("ghcr.io/a/some.thing:v1", "some-thing-v1");
    check(&format!("ghcr.io/a/fn@{DIGEST}"), "fn");
    check("Not An Image", "function");
    check("", "function");
    for image in [
        "ghcr.io/a/fn:_",
        "a/b:-",
        "ä/ö:ü",
        "x@y@z",
        "fn:v1.",
        "::::",
    ] {
        assert_is_service_name(&pod_name(image, "", u64::MAX, ""));
    }
}

#[test]
fn long_names_are_shortened_and_stay_unique() {
    let long = |end: &str| format!("ghcr.io/a/{}:{}{end}", "n".repeat(200), "t".repeat(100));
    let one = pod_name(&long("1"), DIGEST, 1, "a");
    let other = pod_name(&long("2"), DIGEST, 1, "a");
    assert_is_service_name(&one);
    assert_ne!(one, other);
    assert_is_service_name(&pod_name(&long(""), DIGEST, u64::MAX, "a"));
}

#[test]
fn replicas_and_numbers_make_different_names() {
    let name = |number, replica| pod_name("ghcr.io/a/fn:v1", DIGEST, number, replica);
    assert_ne!(name(1, "a"), name(2, "a"));
    assert_ne!(name(1, "a"), name(1, "b"));
}

#[test]
fn fingerprints_respect_text_boundaries() {
    assert_ne!(fingerprint(&["ab", "c"], 8), fingerprint(&["a", "bc"], 8));
    assert_eq!(fingerprint(&["a"], 12).len(), 12);
}

#[test]
fn any_text_becomes_a_label_value() {
    assert_eq!(
        label_value("function-runner-5d-x2.y_z"),
        "function-runner-5d-x2.y_z"
    );
    for text in ["", "-a", "a-", "a b", &"x".repeat(64), "äöü", "a/b", "---"] {
        let value = label_value(text);
        assert!(!value.is_empty() && value.len() <= 63, "{value}");
        assert_eq!(value, label_value(&value), "{text:?} made {value:?}");
    }
    assert_ne!(label_value("a b"), label_value("ab"));
}
