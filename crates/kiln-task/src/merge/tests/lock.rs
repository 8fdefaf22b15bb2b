//! `kiln.lock` in all strategies.

use kiln_lock::{FunctionLock, LOCK_FILE, LockKey, LockedFunction};

use super::{merge_with, package, text};
use crate::contents::Contents;
use crate::task::Strategy;

const STRATEGIES: [Strategy; 4] = [
    Strategy::ResourceMerge,
    Strategy::FastForward,
    Strategy::ForceDeleteReplace,
    Strategy::CopyMerge,
];

/// A lock file with functions by their versions.
fn lock(functions: &[(&str, &str)]) -> String {
    let functions = functions.iter().map(|(image, version)| {
        let key = LockKey {
            image: (*image).to_owned(),
            tag: String::new(),
        };
        let function = LockedFunction {
            resolved: format!("example.com/{image}:{version}"),
            digest: None,
            native: Some(format!("{image}@{version}#1")),
            wasm: None,
        };
        (key, function)
    });
    let lock = FunctionLock {
        functions: functions.collect(),
    };
    lock.to_text()
}

#[track_caller]
fn check(origin: Option<&str>, updated: Option<&str>, local: Option<&str>, expected: &str) {
    let side = |lock: Option<&str>| match lock {
        None => Contents::new(),
        Some(lock) => package(&[(LOCK_FILE, lock)]),
    };
    for strategy in STRATEGIES {
        let merged = merge_with(strategy, &side(origin), &side(updated), &side(local));
        let merged = merged.expect("a merge");
        assert_eq!(text(&merged.contents, LOCK_FILE), expected, "{strategy:?}");
        assert_eq!(merged.conflicts, [], "{strategy:?}");
    }
}

#[test]
fn entries_that_the_upstream_changed_are_dropped() {
    let origin = lock(&[("a", "v1"), ("b", "v1")]);
    let updated = lock(&[("a", "v2"), ("b", "v1")]);
    let local = lock(&[("a", "v1"), ("b", "v1"), ("mine", "v1")]);
    let merged = lock(&[("b", "v1"), ("mine", "v1")]);
    check(Some(&origin), Some(&updated), Some(&local), &merged);
    // A file of one side only is a file like any other.
    check(Some(&origin), Some(&updated), Some(&origin), &updated);
    check(None, Some(&updated), None, &updated);
    check(None, None, Some(&local), &local);
    check(Some(&origin), Some(&origin), Some(&local), &local);
    // The upstream has no lock file any more.
    check(Some(&origin), None, Some(&local), &lock(&[("mine", "v1")]));
    // One side is not a lock file.
    let conflict = format!("<<<<<<< a\n{local}");
    check(Some(&origin), Some(&updated), Some(&conflict), &updated);
}
