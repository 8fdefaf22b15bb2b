//! The marks of cloned resources.

use super::{package, text};
use crate::merge::add_merge_keys;

#[track_caller]
fn check(before: &str, after: &str) {
    let mut contents = package(&[("x.yaml", before)]);
    add_merge_keys(&mut contents);
    assert_eq!(text(&contents, "x.yaml"), after);
    add_merge_keys(&mut contents);
    assert_eq!(text(&contents, "x.yaml"), after);
}

#[test]
fn resources_are_marked_once() {
    check(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: foo\n  namespace: bar\n",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: # kpt-merge: bar/foo\n  name: foo\n  namespace: bar\n  annotations:\n    internal.kpt.dev/upstream-identifier: 'apps|Deployment|bar|foo'\n",
    );
    check(
        "kind: A\nmetadata:\n  name: a\n---\n\n# note\nkind: B\nmetadata:\n  name: b\n",
        "kind: A\nmetadata: # kpt-merge: /a\n  name: a\n  annotations:\n    internal.kpt.dev/upstream-identifier: '|A|default|a'\n---\n\n# note\nkind: B\nmetadata: # kpt-merge: /b\n  name: b\n  annotations:\n    internal.kpt.dev/upstream-identifier: '|B|default|b'\n",
    );
}

#[test]
fn other_comments_stay() {
    check(
        "kind: A\nmetadata: # keep\n  name: a\n",
        "kind: A\n# keep\nmetadata: # kpt-merge: /a\n  name: a\n  annotations:\n    internal.kpt.dev/upstream-identifier: '|A|default|a'\n",
    );
    // The annotation keeps the first upstream, and a comment without a slash is ignored.
    check(
        "kind: A\nmetadata: # kpt-merge: n/old\n  name: new\n",
        "kind: A\nmetadata: # kpt-merge: n/old\n  name: new\n  annotations:\n    internal.kpt.dev/upstream-identifier: '|A|n|old'\n",
    );
    check(
        "kind: A\nmetadata: # kpt-merge: foo\n  name: a\n",
        "kind: A\nmetadata: # kpt-merge: foo\n  name: a\n",
    );
}

#[test]
fn files_that_cannot_be_marked_stay_unchanged() {
    for text in [
        "a: 1\n",
        "{{ x }}: [\n",
        "- 1\n",
        "# nothing\n",
        "kind: A\nmetadata: 7\n",
        "kind: A\nmetadata:\n  annotations: {}\n",
    ] {
        check(text, text);
    }
}
