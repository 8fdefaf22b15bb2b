//! Random packages, random changes, random places to stop.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

fn path() -> impl Strategy<Value = String> {
    let name = prop_oneof!["[ab]", "[ab]\\.yaml", "é %\\.yaml"];
    proptest::collection::vec(name, 1..4).prop_map(|names| names.join("/"))
}

fn change() -> impl Strategy<Value = FileChange> {
    (path(), proptest::option::of("[xyz]{0,2}")).prop_map(|(path, content)| match content {
        Some(content) => write(&path, &content),
        None => delete(&path),
    })
}

fn parents(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

/// What the changes mean, without a disk; none if they cannot all be made.
fn model(before: &Snapshot, changes: &[FileChange]) -> Option<Snapshot> {
    let is_directory = |state: &Snapshot, at: &str| state.get(at).is_some_and(|what| what == "/");
    let mut after = before.clone();
    let mut seen = HashMap::new();
    for FileChange { path, action } in changes {
        if parents(path).any(|at| before.contains_key(at) && !is_directory(before, at)) {
            return None;
        }
        if is_directory(before, path) {
            return None;
        }
        // Writing the same content twice is not a contradiction: one of the two may be a link to the other.
        let is_write = matches!(action, FileAction::Write(_));
        let first = seen.insert(path.as_str(), action);
        if first.is_some_and(|first| first != action || !is_write) {
            return None;
        }
    }
    for FileChange { path, action } in changes {
        match action {
            FileAction::Write(content) => {
                if parents(path).any(|at| seen.contains_key(at)) {
                    return None;
                }
                for at in parents(path) {
                    after.insert(at.into(), "/".into());
                }
                after.insert(path.clone(), String::from_utf8_lossy(content).into());
            }
            FileAction::Delete => {
                after.remove(path);
            }
        }
    }
    Some(after)
}

fn build(files: &[(String, String)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a temporary directory");
    for (path, content) in files {
        let path = root.path().join(path);
        // Files that do not fit beside earlier ones are left out.
        let made = path.parent().map(fs::create_dir_all);
        if matches!(made, Some(Ok(()))) && !path.is_dir() {
            fs::write(path, content).expect("a file");
        }
    }
    root
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn all_or_nothing(
        files in proptest::collection::vec((path(), "[xy]{0,2}"), 0..6),
        changes in proptest::collection::vec(change(), 0..6),
        allowed in 0usize..60,
    ) {
        let root = build(&files);
        let before = snapshot(root.path());
        let expected = model(&before, &changes);
        let steps = stop_after(allowed);
        let outcome = apply_stepwise(root.path(), &changes, ApplyOptions::default(), steps);
        recover(root.path()).expect("recovers");
        let after = snapshot(root.path());
        match (outcome, expected) {
            (Ok(_), Some(expected)) => prop_assert_eq!(after, expected),
            (Err(_), Some(expected)) => {
                prop_assert!(after == before || after == expected, "mixed: {:?}", after);
            }
            (Err(_), None) => prop_assert_eq!(after, before),
            (Ok(_), None) => prop_assert!(false, "made the impossible: {:?}", after),
        }
    }
}
