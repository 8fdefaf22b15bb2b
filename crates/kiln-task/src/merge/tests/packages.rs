//! Subpackages, Kptfiles, and the other strategies.

use super::{conflicts, merge_with, package, text};
use crate::contents::Contents;
use crate::task::Strategy;

const ROOT: (&str, &str) = (
    "Kptfile",
    "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\n",
);
const SUB: (&str, &str) = (
    "sub/Kptfile",
    "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: sub\n",
);
const CM: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  k: '1'\n";

fn with(files: &[(&str, &str)]) -> Contents {
    package(&[&[ROOT], files].concat())
}

/// Whether the file of the subpackage exists afterwards, and the number of conflicts.
#[track_caller]
fn matrix(
    origin: &[(&str, &str)],
    updated: &[(&str, &str)],
    local: &[(&str, &str)],
) -> (bool, usize) {
    let merged = merge_with(
        Strategy::ResourceMerge,
        &with(origin),
        &with(updated),
        &with(local),
    )
    .expect("a merge");
    let has = merged.contents.get("sub/c.yaml").is_some();
    assert_eq!(has, merged.contents.get("sub/Kptfile").is_some());
    (has, merged.conflicts.len())
}

#[test]
fn subpackages_are_added_and_removed_as_a_whole() {
    let changed = CM.replace("'1'", "'2'");
    let sub: &[(&str, &str)] = &[SUB, ("sub/c.yaml", CM)];
    let other: &[(&str, &str)] = &[SUB, ("sub/c.yaml", &changed)];
    assert_eq!(matrix(&[], sub, &[]), (true, 0));
    assert_eq!(matrix(&[], &[], sub), (true, 0));
    assert_eq!(matrix(sub, &[], &[]), (false, 0));
    assert_eq!(matrix(sub, sub, &[]), (false, 0));
    assert_eq!(matrix(sub, other, &[]), (false, 1));
    assert_eq!(matrix(sub, &[], sub), (false, 0));
    assert_eq!(matrix(sub, &[], other), (true, 1));
    assert_eq!(matrix(&[], sub, sub), (true, 0));
    let error = merge_with(
        Strategy::ResourceMerge,
        &with(&[]),
        &with(sub),
        &with(other),
    );
    assert_eq!(
        error.expect_err("an error").to_string(),
        "subpackage \"sub\" added in both upstream and local"
    );
}

#[test]
fn subpackages_with_other_upstreams() {
    let kptfile = |git_ref: &str| {
        format!(
            "{}upstream:\n  type: git\n  git:\n    repo: https://x/y\n    directory: /\n    ref: {git_ref}\n",
            SUB.1
        )
    };
    let (v1, v2, mine) = (kptfile("v1"), kptfile("v2"), kptfile("mine"));
    let changed = CM.replace("'1'", "'2'");
    let side = |kptfile: &str, cm: &str| with(&[("sub/Kptfile", kptfile), ("sub/c.yaml", cm)]);
    let run = |local: &str| {
        let (origin, updated) = (side(&v1, CM), side(&v2, &changed));
        merge_with(Strategy::ResourceMerge, &origin, &updated, &side(local, CM)).expect("a merge")
    };
    assert_eq!(run(&v1).contents, side(&v2, &changed));
    assert_eq!(run(&mine).contents, side(&mine, CM));
    // A new subpackage of the upstream is added.
    let merged = merge_with(
        Strategy::ResourceMerge,
        &with(&[]),
        &side(&v1, CM),
        &with(&[]),
    );
    assert_eq!(merged.expect("a merge").contents, side(&v1, CM));
}

#[track_caller]
fn kptfile(origin: &str, updated: &str, local: &str, expected: &str) -> Vec<String> {
    let head = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: ";
    let side = |name: &str, rest: &str| package(&[("Kptfile", &format!("{head}{name}\n{rest}"))]);
    let merged = merge_with(
        Strategy::ResourceMerge,
        &side("up", origin),
        &side("up", updated),
        &side("mine", local),
    )
    .expect("a merge");
    assert_eq!(
        text(&merged.contents, "Kptfile"),
        format!("{head}mine\n{expected}")
    );
    conflicts(&merged)
}

#[test]
fn kptfiles_keep_name_upstream_and_comments() {
    assert!(
        kptfile(
            "upstream:\n  type: git\ninfo:\n  description: a\n",
            "upstream:\n  type: oci\ninfo:\n  description: b\n  site: s\n",
            "upstream:\n  type: git\n# mine\ninfo:\n  description: a # why\nunknown: 1\n",
            "upstream:\n  type: git\n# mine\ninfo:\n  description: b # why\n  site: s\nunknown: 1\n",
        )
        .is_empty()
    );
    assert_eq!(
        kptfile(
            "info:\n  site: a\n",
            "info:\n  site: b\n",
            "info:\n  site: c\n",
            "info:\n  site: b\n"
        ),
        ["Kptfile: info.site: was a, local has c, upstream has b; upstream taken"]
    );
}

#[test]
fn functions_are_identified_by_image() {
    let pipeline = |functions: &str| format!("pipeline:\n  mutators:\n{functions}");
    let found = kptfile(
        &pipeline("    - image: r:5000/a:v1\n    - image: r:5000/b:v1\n"),
        &pipeline("    - image: r:5000/a:v2\n    - image: r:5000/b:v1\n    - image: r:5000/c:v1\n"),
        &pipeline(
            "    - image: r:5000/a:v1\n      configMap:\n        k: v\n    - exec: mine\n    - image: r:5000/b:v1\n",
        ),
        &pipeline(
            "    - image: r:5000/a:v2\n      configMap:\n        k: v\n    - exec: mine\n    - image: r:5000/b:v1\n    - image: r:5000/c:v1\n",
        ),
    );
    assert_eq!(found, [""; 0]);
    let found = kptfile(
        &pipeline("    - image: a:v1\n"),
        &pipeline("    - image: a:v2\n"),
        &pipeline("    - image: a:v3\n"),
        &pipeline("    - image: a:v2\n"),
    );
    assert_eq!(
        found,
        [
            "Kptfile: pipeline.mutators[name=a].image: was a:v1, local has a:v3, upstream has a:v2; upstream taken"
        ]
    );
}

#[test]
fn the_same_function_twice_makes_a_list_whole() {
    let pipeline = |functions: &str| format!("pipeline:\n  mutators:\n{functions}");
    let twice = pipeline("    - image: a:v1\n    - image: a:v1\n");
    let found = kptfile(
        &twice,
        &pipeline("    - image: a:v2\n"),
        &twice,
        &pipeline("    - image: a:v2\n"),
    );
    assert_eq!(found, [""; 0]);
}

#[test]
fn fast_forward_refuses_local_changes() {
    let changed = CM.replace("'1'", "'2'");
    let (origin, updated) = (with(&[("c.yaml", CM)]), with(&[("c.yaml", &changed)]));
    let run = |local: &Contents| merge_with(Strategy::FastForward, &origin, &updated, local);
    assert_eq!(run(&origin).expect("a merge").contents, updated);
    let mut cloned = origin.clone();
    crate::merge::add_merge_keys(&mut cloned);
    let rendered = format!(
        "{}status:\n  conditions:\n    - type: Rendered\n      status: \"True\"\n",
        ROOT.1
    );
    cloned.insert_text("Kptfile", &rendered).expect("a path");
    let merged = run(&cloned).expect("a merge");
    assert_eq!(text(&merged.contents, "c.yaml"), changed);
    assert_eq!(text(&merged.contents, "Kptfile"), ROOT.1);
    let local = with(&[("c.yaml", &CM.replace("'1'", "'3'")), ("new", ""), SUB]);
    assert_eq!(
        run(&local).expect_err("an error").to_string(),
        "local package files have been modified: [c.yaml new sub (Package)].\n  use a different update --strategy."
    );
}

#[test]
fn force_delete_replace_replaces_everything() {
    let updated = with(&[("d.yaml", CM), SUB]);
    let local = package(&[
        ("Kptfile", &format!("{}info:\n  site: mine\n", ROOT.1)),
        ("c.yaml", CM),
        ("own/Kptfile", SUB.1),
        ("d.yaml/x", "a file where there will be none"),
    ]);
    let merged = merge_with(
        Strategy::ForceDeleteReplace,
        &with(&[("c.yaml", CM)]),
        &updated,
        &local,
    )
    .expect("a merge");
    let paths: Vec<&str> = merged.contents.paths().map(|path| path.as_str()).collect();
    assert_eq!(paths, ["Kptfile", "d.yaml", "sub/Kptfile"]);
    assert!(text(&merged.contents, "Kptfile").contains("site: mine"));
}

#[test]
fn copy_merge_copies_and_deletes() {
    let changed = CM.replace("'1'", "'2'");
    let origin = with(&[("c.yaml", CM), ("gone/a", "1"), SUB]);
    let updated = with(&[("c.yaml", &changed), ("sub/new", "")]);
    let mine = CM.replace("'1'", "'3'");
    let local = with(&[("c.yaml", &mine), ("gone/a", "1"), ("gone/own", "2"), SUB]);
    let merged = merge_with(Strategy::CopyMerge, &origin, &updated, &local).expect("a merge");
    assert_eq!(
        merged.contents,
        with(&[("c.yaml", &changed), ("gone/own", "2"), ("sub/new", "")])
    );
    assert_eq!(
        conflicts(&merged),
        ["c.yaml: was 66 bytes, local has 66 bytes, upstream has 66 bytes; upstream taken"]
    );
}

#[test]
fn a_file_replaces_a_directory() {
    let origin = with(&[("a", "1")]);
    let updated = with(&[("a/b", "1")]);
    let merged = merge_with(Strategy::ResourceMerge, &origin, &updated, &origin);
    assert_eq!(merged.expect("a merge").contents, updated);
    let local = with(&[("a", "mine")]);
    let error = merge_with(Strategy::ResourceMerge, &origin, &updated, &local);
    assert_eq!(
        error.expect_err("an error").to_string(),
        "\"a\" is both a file and a directory"
    );
}
