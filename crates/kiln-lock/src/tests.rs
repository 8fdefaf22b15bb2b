//! The text of lock files, what is refused, and updates from an upstream.

use super::{FunctionLock, LockKey, LockedFunction};

const DIGEST: &str = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

fn lock(entries: &[(&str, &str, &str)]) -> FunctionLock {
    let functions = entries.iter().map(|&(image, tag, native)| {
        let key = LockKey {
            image: image.to_owned(),
            tag: tag.to_owned(),
        };
        let function = LockedFunction {
            resolved: format!("example.com/{image}:v1"),
            digest: Some(DIGEST.to_owned()),
            native: (!native.is_empty()).then(|| native.to_owned()),
            wasm: None,
        };
        (key, function)
    });
    FunctionLock {
        functions: functions.collect(),
    }
}

#[test]
fn a_file_has_one_text() {
    let lock = lock(&[
        ("set-labels", "", "set-labels@v0.2.0#1"),
        ("127.0.0.1:5000/b", "0.4", ""),
        ("set-labels", ">= 0.1, < 0.3", ""),
        ("set-labels", "~0.2", ""),
    ]);
    let text = lock.to_text();
    let expected = format!(
        "# Made by kiln. Commit it; `kiln lock --update` renews it.
version: 1
functions:
- image: 127.0.0.1:5000/b
  tag: '0.4'
  resolved: example.com/127.0.0.1:5000/b:v1
  digest: {DIGEST}
- image: set-labels
  resolved: example.com/set-labels:v1
  digest: {DIGEST}
  native: set-labels@v0.2.0#1
- image: set-labels
  tag: '>= 0.1, < 0.3'
  resolved: example.com/set-labels:v1
  digest: {DIGEST}
- image: set-labels
  tag: ~0.2
  resolved: example.com/set-labels:v1
  digest: {DIGEST}
upstream: []
"
    );
    assert_eq!(text, expected);
    assert_eq!(FunctionLock::parse("kiln.lock", text.as_bytes()), Ok(lock));
}

#[test]
fn every_text_survives_a_round_trip() {
    let texts = [
        "~", "no", "Y", "n", "1", "1e3", "0x1", "a:", "a: b", "it's", "a #b", "*a", "&a", "!a",
        "- a", "a\nb", "\"a\"", "é", "[a]", "a\tb", "null", "^1", ".5", "a,b",
    ];
    for text in texts {
        let lock = lock(&[(text, text, "")]);
        let read = FunctionLock::parse("kiln.lock", lock.to_text().as_bytes());
        assert_eq!(read, Ok(lock), "{text:?}");
    }
    let empty = FunctionLock::default();
    let read = FunctionLock::parse("kiln.lock", empty.to_text().as_bytes());
    assert_eq!(read, Ok(empty));
}

#[track_caller]
fn check_refused(text: &str, expected: &str) {
    let error = FunctionLock::parse("pkg/kiln.lock", text.as_bytes()).expect_err("refused");
    assert_eq!(error.to_string(), expected, "{text}");
}

#[test]
fn what_is_not_understood_is_refused_with_its_line() {
    let entry = format!("- image: a\n  resolved: h/a:v1\n  digest: {DIGEST}\n");
    check_refused("", "pkg/kiln.lock:1: the lock file is empty");
    check_refused(
        "version: 2\nfunctions: []\n",
        "pkg/kiln.lock:1: version \"2\" of the lock file is not supported; this kiln reads version 1",
    );
    check_refused(
        "functions: []\n",
        "pkg/kiln.lock:1: the lock file has no `version`",
    );
    check_refused(
        "version: 1\n",
        "pkg/kiln.lock:1: the lock file has no `functions`",
    );
    check_refused(
        "version: 1\nfunctions: []\npackages: []\n",
        "pkg/kiln.lock:3: unknown key \"packages\" in the lock file; the keys are version, functions, upstream",
    );
    check_refused(
        "version: 1\nfunctions: []\nupstream: [a]\n",
        "pkg/kiln.lock:3: upstream must be [], it is reserved",
    );
    check_refused(
        "version: 1\nversion: 1\nfunctions: []\n",
        "pkg/kiln.lock:2: \"version\" occurs twice, first in line 1",
    );
    check_refused(
        &format!("version: 1\nfunctions:\n{entry}  hash: b\n"),
        "pkg/kiln.lock:6: unknown key \"hash\" in an entry; the keys are image, tag, resolved, digest, native, wasm",
    );
    check_refused(
        &format!("version: 1\nfunctions:\n{entry}{entry}"),
        "pkg/kiln.lock:6: the entry of a occurs twice, first in line 3",
    );
    check_refused(
        "version: 1\nfunctions:\n- image: a\n  resolved: h/a:v1\n",
        "pkg/kiln.lock:3: an entry has neither `digest` nor `native`",
    );
    check_refused(
        "version: 1\nfunctions:\n- image: a\n  resolved: h/a:v1\n  digest: sha256:1\n",
        "pkg/kiln.lock:5: digest must be sha256: and 64 hexadecimal digits",
    );
    let other = DIGEST.replace("aaaa", "bbbb");
    check_refused(
        &format!(
            "version: 1\nfunctions:\n- image: h/a@{DIGEST}\n  resolved: h/a@{DIGEST}\n  digest: {other}\n"
        ),
        &format!("pkg/kiln.lock:5: digest is not the one that `resolved` names: {DIGEST}"),
    );
    check_refused(
        "version: 1\nfunctions:\n- image: a\n  resolved: h/a:v1\n  native: a\n",
        "pkg/kiln.lock:5: native must be NAME@VERSION#BEHAVIOUR",
    );
    check_refused(
        "version: 1\nfunctions:\n- image: a\n  tag: ''\n  resolved: h/a:v1\n",
        "pkg/kiln.lock:4: tag must be a text that is not empty",
    );
    check_refused(
        &format!("version: 1\nfunctions:\n<<<<<<< ours\n{entry}=======\n>>>>>>> theirs\n"),
        "pkg/kiln.lock:3: the lock file has a merge conflict",
    );
}

#[test]
fn an_update_drops_what_the_upstream_changed() {
    let origin = lock(&[("a", "", "a@v1#1"), ("b", "", "b@v1#1"), ("c", "", "")]);
    let updated = lock(&[("a", "", "a@v2#1"), ("b", "", "b@v1#1"), ("d", "", "")]);
    let local = lock(&[
        ("a", "", "a@v1#2"),
        ("b", "", "b@v1#2"),
        ("c", "", ""),
        ("mine", "", ""),
    ]);
    let merged = local.merge_upstream(&origin, &updated);
    assert_eq!(merged, lock(&[("b", "", "b@v1#2"), ("mine", "", "")]));
    // An entry that both sides changed alike is not in doubt.
    let local = lock(&[("a", "", "a@v2#1")]);
    assert_eq!(local.merge_upstream(&origin, &updated), local);
}

#[test]
fn changes_are_described_in_one_line() {
    let before = lock(&[("a", "~1", "a@v1#1"), ("b", "", "")]);
    let after = lock(&[("a", "~1", "a@v1#2"), ("c", "", "")]);
    let changes = before.changes_to(&after);
    let lines: Vec<String> = changes.iter().map(super::LockChange::describe).collect();
    let old = "example.com/a:v1@sha256:aaaaaaaaaaaa (built in: a@v1#1)";
    let new = "example.com/a:v1@sha256:aaaaaaaaaaaa (built in: a@v1#2)";
    assert_eq!(
        lines,
        [
            format!("a (~1): {old} → {new}"),
            "b: removed example.com/b:v1@sha256:aaaaaaaaaaaa".to_owned(),
            "c: added example.com/c:v1@sha256:aaaaaaaaaaaa".to_owned(),
        ]
    );
}
