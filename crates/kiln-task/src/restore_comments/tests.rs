//! Which comments are restored, and which are not.

use super::restore_comments;
use crate::contents::Contents;

const OLD: &str = "# top\napiVersion: apps/v1\nkind: Deployment\nmetadata: # kpt-merge: /d\n  name: d\nspec:\n  replicas: 3 # kpt-set: ${replicas}\n  template:\n    spec:\n      containers:\n      - name: a # first\n        args:\n        - -x # why\n      # second\n      - name: b\n";

#[track_caller]
fn check(old: &[(&str, &str)], new: &[(&str, &str)], expected: &[(&str, &str)]) {
    let contents = |files: &[(&str, &str)]| {
        let mut contents = Contents::new();
        for (path, text) in files {
            contents.insert_text(path, text).expect("a path");
        }
        contents
    };
    let restored = restore_comments(&contents(old), &contents(new));
    for (path, text) in expected {
        let found = restored.bytes(path).map(String::from_utf8_lossy);
        assert_eq!(found.as_deref(), Some(*text), "{path}");
    }
    assert_eq!(restored.len(), expected.len());
}

/// Removes the comments of a text.
fn bare(text: &str) -> String {
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    let cut = lines.map(|line| line.split(" #").next().unwrap_or_default());
    cut.map(|line| format!("{line}\n")).collect()
}

#[test]
fn comments_that_a_program_removed_are_restored() {
    let new = bare(OLD).replace("replicas: 3", "replicas: 4");
    let expected = OLD.replace("replicas: 3", "replicas: 4");
    check(
        &[("d.yaml", OLD)],
        &[("d.yaml", &new)],
        &[("d.yaml", &expected)],
    );
    // Also into another file, and into files that have not changed.
    let other = "kind: A\nmetadata:\n  name: a # mine\n";
    check(
        &[("d.yaml", OLD), ("a.yaml", other)],
        &[
            ("x/d.yaml", &new),
            ("a.yaml", &bare(other)),
            ("n.txt", "# no"),
        ],
        &[
            ("x/d.yaml", &expected),
            ("a.yaml", other),
            ("n.txt", "# no"),
        ],
    );
}

#[test]
fn comments_that_a_user_removed_are_not_restored() {
    let one_less = OLD
        .replace(" # first", "")
        .replace("replicas: 3", "replicas: 4");
    check(
        &[("d.yaml", OLD)],
        &[("d.yaml", &one_less)],
        &[("d.yaml", &one_less)],
    );
    let all = bare(OLD);
    check(&[("d.yaml", OLD)], &[("d.yaml", &all)], &[("d.yaml", &all)]);
}

#[test]
fn comments_follow_their_items() {
    let text = |items: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: d\nspec:\n  template:\n    spec:\n      containers:\n{items}"
        )
    };
    check(
        &[(
            "d.yaml",
            &text("      - name: a # first\n      - name: b # second\n"),
        )],
        &[(
            "d.yaml",
            &text("      - name: new\n      - name: b\n        tty: true\n      - name: a\n"),
        )],
        &[(
            "d.yaml",
            &text(
                "      - name: new\n      - name: b # second\n        tty: true\n      - name: a # first\n",
            ),
        )],
    );
    let list = |items: &str| format!("kind: A\nmetadata:\n  name: a\nlist:\n{items}");
    check(
        &[("d.yaml", &list("- x # one\n- y # two\n"))],
        &[("d.yaml", &list("- w\n- x\n- y\n"))],
        &[("d.yaml", &list("- w\n- x # one\n- y # two\n"))],
    );
}

#[test]
fn other_files_keep_their_bytes() {
    let old = "kind: A\nmetadata:\n  name: a # mine\nx: 1\n";
    let new = "kind: A\nmetadata:\n  name: a\nx: 2\n";
    let rest = [
        ("empty.yaml", ""),
        ("list.yaml", "- 1\n-    2\n"),
        ("notes.yaml", "# only a comment\n"),
        ("template.yaml", "{{ if }}: [\n"),
        ("windows.yaml", "a:  1\r\nb: 2\r\n"),
    ];
    let before = [&[("a.yaml", old)][..], &rest].concat();
    let after = [&[("a.yaml", new)][..], &rest].concat();
    let expected = old.replace("x: 1", "x: 2");
    let expected = [&[("a.yaml", expected.as_str())][..], &rest].concat();
    check(&before, &after, &expected);
}

#[test]
fn templates_and_duplicates_are_not_changed() {
    let ytt = "kind: A\nmetadata:\n  name: a\nx: 1 #@ data\n";
    let new = "kind: A\nmetadata:\n  name: a\nx: 2\n";
    check(&[("a.yaml", ytt)], &[("a.yaml", new)], &[("a.yaml", new)]);
    let twin = "kind: A\nmetadata:\n  name: a\nx: 1 # one\n";
    check(
        &[("a.yaml", twin), ("b.yaml", twin)],
        &[("c.yaml", new)],
        &[("c.yaml", new)],
    );
}
