//! The table is sorted, has no duplicates, and resolves references.

use super::Registry;

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
