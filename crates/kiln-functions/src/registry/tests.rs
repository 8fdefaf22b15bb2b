//! The table is sorted, has no duplicates, and resolves references.

use super::{NotBuiltIn, Registry};

#[test]
fn names_are_sorted_and_unique() {
    let names: Vec<&str> = Registry::builtin()
        .functions()
        .map(|info| info.name)
        .collect();
    assert!(names.is_sorted(), "{names:?}");
    let functions: Vec<_> = Registry::builtin().all_functions().collect();
    let mut all: Vec<&str> = functions.iter().map(|info| info.name).collect();
    all.extend(functions.iter().flat_map(|info| info.former_names));
    all.sort_unstable();
    let count = all.len();
    all.dedup();
    assert_eq!(all.len(), count);
}

#[test]
fn every_tag_belongs_to_one_version() {
    for info in Registry::builtin().all_functions() {
        let tags: Vec<&str> = info
            .versions
            .iter()
            .flat_map(|b| b.tags.iter().copied())
            .collect();
        let mut unique = tags.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), tags.len(), "{}: {tags:?}", info.name);
        assert!(!tags.is_empty(), "{}", info.name);
        assert!(
            !info.summary.is_empty() && !info.doc.is_empty(),
            "{}",
            info.name
        );
    }
}

#[test]
fn identities_name_a_release() {
    let identity = |image: &str| {
        let identity = Registry::builtin().identity(image);
        identity.map(|identity| identity.to_string())
    };
    for (image, expected) in [
        ("set-labels:v0.1.4", "native:set-labels@v0.1.4#1"),
        ("set-labels:v0.1", "native:set-labels@v0.1.5#1"),
        ("set-label:v0.2", "native:set-labels@v0.2.5#1"),
        ("set-labels", "native:set-labels@v0.2.5#1"),
        (
            "gcr.io/kpt-fn/set-labels:unstable",
            "native:set-labels@v0.2.2#1",
        ),
    ] {
        assert_eq!(identity(image).as_deref(), Some(expected), "{image}");
    }
    for unknown in ["set-labels:v9", "example.com/set-labels:v0.1.4"] {
        assert_eq!(identity(unknown), None, "{unknown}");
    }
}

#[test]
fn only_known_references_are_found() {
    let registry = Registry::builtin();
    for known in [
        "no-op",
        "gcr.io/kpt-fn/no-op:unstable",
        "gcr.io/kpt-fn-demo/foo:v0.1",
        "ghcr.io/kptdev/krm-functions-catalog/no-op:latest",
        "ghcr.io/kptdev/krm-functions-catalog/archived/no-op",
    ] {
        assert!(registry.find_image(known).is_some(), "{known}");
    }
    for unknown in [
        "gcr.io/kpt-fn/no-op:v99.0.0",
        "gcr.io/kpt-fn/no-op:v00",
        "example.com/no-op:latest",
        "gcr.io/kpt-fn/other/no-op:latest",
        "no-op@sha256:0123456789012345678901234567890123456789012345678901234567890123",
        "",
    ] {
        assert!(registry.find_image(unknown).is_none(), "{unknown}");
    }
}

#[test]
fn functions_of_the_test_suite_of_kpt_are_not_listed() {
    let registry = Registry::builtin();
    for name in ["bar", "foo", "no-op", "printenv"] {
        assert!(registry.function(name).is_some(), "{name}");
        assert!(registry.functions().all(|info| info.name != name), "{name}");
    }
}

#[test]
fn images_that_are_not_built_in_have_a_reason() {
    let reason = |image: &str| match Registry::builtin().not_built_in(image) {
        None => String::new(),
        Some(NotBuiltIn::UnknownFunction(name)) => format!("no function {name}"),
        Some(NotBuiltIn::UnknownVersion { info, tag }) => format!("{} has no {tag}", info.name),
    };
    let prefix = "ghcr.io/kptdev/krm-functions-catalog";
    assert_eq!(
        reason(&format!("{prefix}/set-lables:v0.2.0")),
        "no function set-lables"
    );
    assert_eq!(
        reason(&format!("{prefix}/set-labels:v9")),
        "set-labels has no v9"
    );
    assert_eq!(reason(&format!("{prefix}/set-labels:v0.2.0")), "");
    assert_eq!(reason("example.com/set-lables:v0.2.0"), "");
    let digest = "sha256:0123456789012345678901234567890123456789012345678901234567890123";
    assert_eq!(reason(&format!("set-lables@{digest}")), "");
}
