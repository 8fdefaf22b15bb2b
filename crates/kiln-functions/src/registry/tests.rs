//! The table: in order, without repetition, and resolved as it should be.

use super::Registry;

#[test]
fn names_are_sorted_and_unique() {
    let functions: Vec<_> = Registry::builtin().functions().collect();
    let names: Vec<&str> = functions.iter().map(|info| info.name).collect();
    assert!(names.is_sorted(), "{names:?}");
    let mut all = names.clone();
    all.extend(functions.iter().flat_map(|info| info.former_names));
    all.sort_unstable();
    let count = all.len();
    all.dedup();
    assert_eq!(all.len(), count);
}

#[test]
fn every_tag_stands_for_one_behaviour() {
    for info in Registry::builtin().functions() {
        let tags: Vec<&str> = info
            .behaviours
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
fn only_what_is_known_is_found() {
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
