//! Which comments come back, and which stay away.

use super::heal;
use crate::contents::Contents;

const OLD: &str = "# top\napiVersion: apps/v1\nkind: Deployment\nmetadata: # kpt-merge: /d\n  name: d\nspec:\n  replicas: 3 # kpt-set: ${replicas}\n  template:\n    spec:\n      containers:\n      - name: a # first\n        args:\n        - -x # why\n      # second\n      - name: b\n";

#[track_caller]
fn check(old: &[(&str, &str)], new: &[(&str, &str)], wanted: &[(&str, &str)]) {
    let contents = |files: &[(&str, &str)]| {
        let mut contents = Contents::new();
        for (path, text) in files {
            contents.insert_text(path, text).expect("a path");
        }
        contents
    };
    let healed = heal(&contents(old), &contents(new));
    for (path, text) in wanted {
        let found = healed.bytes(path).map(String::from_utf8_lossy);
        assert_eq!(found.as_deref(), Some(*text), "{path}");
    }
    assert_eq!(healed.len(), wanted.len());
}

/// A text without its comments.
fn bare(text: &str) -> String {
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    let cut = lines.map(|line| line.split(" #").next().unwrap_or_default());
    cut.map(|line| format!("{line}\n")).collect()
}

#[test]
fn what_a_program_loses_comes_back() {
    let new = bare(OLD).replace("replicas: 3", "replicas: 4");
    let wanted = OLD.replace("replicas: 3", "replicas: 4");
    check(
        &[("d.yaml", OLD)],
        &[("d.yaml", &new)],
        &[("d.yaml", &wanted)],
    );
    // Also into another file, and into others that have not changed.
    let other = "kind: A\nmetadata:\n  name: a # mine\n";
    check(
        &[("d.yaml", OLD), ("a.yaml", other)],
        &[
            ("x/d.yaml", &new),
            ("a.yaml", &bare(other)),
            ("n.txt", "# no"),
        ],
        &[("x/d.yaml", &wanted), ("a.yaml", other), ("n.txt", "# no")],
    );
}

#[test]
fn what_a_person_removes_stays_away() {
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
    let others = [
        ("empty.yaml", ""),
        ("list.yaml", "- 1\n-    2\n"),
        ("notes.yaml", "# only a comment\n"),
        ("template.yaml", "{{ if }}: [\n"),
        ("windows.yaml", "a:  1\r\nb: 2\r\n"),
    ];
    let before = [&[("a.yaml", old)][..], &others].concat();
    let after = [&[("a.yaml", new)][..], &others].concat();
    let wanted = old.replace("x: 1", "x: 2");
    let wanted = [&[("a.yaml", wanted.as_str())][..], &others].concat();
    check(&before, &after, &wanted);
}

#[test]
fn templates_and_twins_are_left_alone() {
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
