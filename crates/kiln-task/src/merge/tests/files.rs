//! Files of resources, and other files.

use super::{conflicts, merge_with, package, text};
use crate::contents::{Contents, FileMode, PackageFile, PackagePath};
use crate::merge::{MergeError, add_merge_keys};
use crate::task::Strategy;

const A: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: '1' # one\n\n  l: \"2\"\n";
const B: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\ndata:\n  k: '1'\n";

#[track_caller]
fn check(origin: &str, updated: &str, local: &str, expected: &str) -> Vec<String> {
    let side = |text: &str| match text {
        "" => Contents::new(),
        text => package(&[("x.yaml", text)]),
    };
    let merged = merge_with(
        Strategy::ResourceMerge,
        &side(origin),
        &side(updated),
        &side(local),
    )
    .expect("a merge");
    assert_eq!(text(&merged.contents, "x.yaml"), expected);
    conflicts(&merged)
}

#[test]
fn a_change_touches_its_line_only() {
    let updated = A.replace("'1'", "'7'");
    let local = A.replace("\"2\"", "three");
    let expected = updated.replace("\"2\"", "three");
    assert!(check(A, &updated, &local, &expected).is_empty());
}

#[test]
fn resources_are_added_and_removed() {
    let both = format!("{A}---\n{B}");
    let changed = B.replace("'1'", "'5'");
    // Removed upstream, with and without a local change.
    assert!(check(&both, A, &both, A).is_empty());
    let local = format!("{A}---\n{changed}");
    assert_eq!(
        check(&both, A, &local, &local),
        [
            "x.yaml: ConfigMap b: was the resource, local has the resource, upstream has nothing; local taken"
        ]
    );
    // Removed locally, with and without a change upstream.
    assert!(check(&both, &both, A, A).is_empty());
    assert_eq!(check(&both, &local, A, A).len(), 1);
    // Added upstream, added locally, added on both sides.
    assert!(check(A, &both, A, &both).is_empty());
    assert!(check(A, A, &both, &both).is_empty());
    assert_eq!(
        check("", &local, &both, &local),
        [
            "x.yaml: ConfigMap b: data.k: was nothing, local has \"1\", upstream has \"5\"; upstream taken"
        ]
    );
    assert!(check(&both, "", &both, "").is_empty());
}

#[test]
fn marks_are_not_changes() {
    let mut local = package(&[("x.yaml", A), ("y.yaml", B)]);
    add_merge_keys(&mut local);
    let origin = package(&[("x.yaml", A), ("y.yaml", B)]);
    let updated = package(&[("x.yaml", &A.replace("'1'", "'7'"))]);
    let merged = merge_with(Strategy::ResourceMerge, &origin, &updated, &local).expect("a merge");
    assert_eq!(merged.conflicts, []);
    assert!(merged.contents.get("y.yaml").is_none());
    let marked = text(&merged.contents, "x.yaml");
    assert!(marked.contains("metadata: # kpt-merge: /a\n"), "{marked}");
    assert!(marked.contains("|ConfigMap|default|a"), "{marked}");
    assert!(marked.contains("k: '7' # one\n\n"), "{marked}");
}

#[test]
fn a_renamed_resource_is_found_by_its_comment() {
    let local = "apiVersion: v1\nkind: ConfigMap\nmetadata: # kpt-merge: /b\n  name: mine\ndata:\n  k: '1'\n";
    let updated = B.replace("'1'", "'5'");
    assert!(check(B, &updated, local, &local.replace("'1'", "'5'")).is_empty());
}

#[test]
fn versions_are_not_part_of_the_identity() {
    let of = |version: &str, image: &str| {
        format!(
            "apiVersion: apps/{version}\nkind: Deployment\nmetadata:\n  name: d\nspec:\n  image: {image}\n"
        )
    };
    check(
        &of("v1beta1", "a"),
        &of("v1", "a"),
        &of("v1beta1", "b"),
        &of("v1", "b"),
    );
}

#[test]
fn a_resource_twice_is_an_error() {
    let twice = format!("{A}---\n{A}");
    let merged = merge_with(
        Strategy::ResourceMerge,
        &package(&[("x.yaml", A)]),
        &package(&[("x.yaml", B)]),
        &package(&[("x.yaml", &twice)]),
    );
    let error = merged.expect_err("an error");
    assert_eq!(
        error.to_string(),
        "found duplicate \"dest\" resources in file \"x.yaml\", please refer to \"update\" documentation for the fix"
    );
    assert!(matches!(error, MergeError::Duplicate { side: "dest", .. }));
}

#[test]
fn documents_that_are_not_resources() {
    // A template, a file of comments, and values without a name.
    assert!(
        check(
            "{{ a }}: [\n",
            "{{ b }}: [\n",
            "{{ a }}: [\n",
            "{{ b }}: [\n"
        )
        .is_empty()
    );
    assert_eq!(
        check(
            "{{ a }}: [\n",
            "{{ b }}: [\n",
            "{{ c }}: [\n",
            "{{ c }}: [\n"
        )
        .len(),
        1
    );
    assert!(check("# a\n", "# b\n", "# a\n", "# b\n").is_empty());
    assert!(
        check(
            "a: 1\nb: 1\n",
            "a: 2\nb: 1\n",
            "a: 1\nb: 3\n",
            "a: 2\nb: 3\n"
        )
        .is_empty()
    );
    assert!(
        check(
            "- 1\n- 2\n",
            "- 1\n- 2\n- 3\n",
            "- 1\n- 2\n",
            "- 1\n- 2\n- 3\n"
        )
        .is_empty()
    );
}

#[test]
fn aliases_are_merged_by_value() {
    let local = "a: &x\n  b: 1\nc: *x\nd: 2\n";
    check(
        "a: {b: 1}\nc: {b: 1}\nd: 1\n",
        "a: {b: 7}\nc: {b: 1}\nd: 1\n",
        local,
        "a:\n  b: 7\nc:\n  b: 1\nd: 2\n",
    );
    // Aliases that expand too much are not resolved.
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let inner = format!("*a{}, ", level - 1).repeat(10);
        bomb += &format!("a{level}: &a{level} [{inner}]\n");
    }
    let found = check(
        "z: 1\n",
        &format!("{bomb}z: 1\n"),
        "z: 3\n",
        &format!("{bomb}z: 1\n"),
    );
    assert_eq!(found.len(), 1);
}

#[test]
fn lists_have_the_keys_of_new_crds() {
    let crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: stores.x.io\nspec:\n  group: x.io\n  names:\n    kind: Store\n  versions:\n  - name: v1\n    schema:\n      openAPIV3Schema:\n        properties:\n          spec:\n            properties:\n              fruits:\n                type: array\n                x-kubernetes-list-type: map\n                x-kubernetes-list-map-keys: [kind]\n                items:\n                  type: object\n";
    let store = |fruits: &str| {
        format!(
            "apiVersion: x.io/v1\nkind: Store\nmetadata:\n  name: s\nspec:\n  fruits:\n{fruits}"
        )
    };
    let side = |fruits: &str, with_crd: bool| {
        let store = store(fruits);
        match with_crd {
            true => package(&[("s.yaml", &store), ("crd.yaml", crd)]),
            false => package(&[("s.yaml", &store)]),
        }
    };
    let merged = merge_with(
        Strategy::ResourceMerge,
        &side("  - kind: apple\n    n: 1\n", false),
        &side("  - kind: apple\n    n: 1\n  - kind: pear\n", true),
        &side("  - kind: apple\n    n: 5\n  - kind: fig\n", false),
    )
    .expect("a merge");
    assert_eq!(
        text(&merged.contents, "s.yaml"),
        store("  - kind: apple\n    n: 5\n  - kind: fig\n  - kind: pear\n")
    );
    assert_eq!(merged.conflicts, []);
}

#[test]
fn other_files_keep_bytes_and_modes() {
    let with = |bytes: &[u8], mode| {
        let mut contents = Contents::new();
        let file = PackageFile {
            bytes: bytes.into(),
            mode,
        };
        contents
            .insert(PackagePath::new("run").expect("a path"), file)
            .expect("a file");
        contents
    };
    let (old, new) = (&[0u8, 255, 1][..], &[9u8, 0, 200][..]);
    let run = |origin, updated, local| {
        let merged = merge_with(Strategy::ResourceMerge, origin, updated, local).expect("a merge");
        let file = merged.contents.get("run").cloned();
        (file, merged.conflicts.len())
    };
    let origin = with(old, FileMode::Regular);
    let updated = with(new, FileMode::Executable);
    let link = with(b"target", FileMode::Symlink);
    let gone = Contents::new();
    let get = |contents: &Contents| contents.get("run").cloned();
    assert_eq!(run(&origin, &updated, &origin), (get(&updated), 0));
    assert_eq!(run(&origin, &link, &origin), (get(&link), 0));
    assert_eq!(run(&origin, &updated, &link), (get(&link), 1));
    assert_eq!(run(&origin, &gone, &origin), (None, 0));
    assert_eq!(run(&origin, &gone, &link), (get(&link), 1));
    assert_eq!(run(&origin, &origin, &gone), (None, 0));
    assert_eq!(run(&origin, &updated, &gone), (get(&updated), 1));
    assert_eq!(run(&gone, &updated, &origin), (get(&origin), 1));
}
