//! Files that are written over where they are, and those that are not.

use std::os::unix::fs::MetadataExt;

use super::*;
use crate::tree::PackageTree;

fn inode(path: &Path) -> u64 {
    fs::metadata(path).expect("a file").ino()
}

/// Whether a file of this old content keeps its inode when it gets new content.
#[track_caller]
fn stays(old: &str, new: &str, options: ApplyOptions) -> bool {
    let root = package(&[("a.yaml", old)]);
    let path = root.path().join("a.yaml");
    let before = inode(&path);
    apply(root.path(), &[write("a.yaml", new)], options).expect("applies");
    assert_eq!(fs::read_to_string(&path).expect("a file"), new);
    inode(&path) == before
}

/// Elsewhere every file is replaced, and there is nothing to test here.
#[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
fn is_possible() -> bool {
    let root = package(&[]);
    let tree = PackageTree::open(root.path(), Steps::default()).expect("opens");
    let possible = tree.root().writes_in_place();
    if !possible {
        eprintln!("SKIPPED: the file system of temporary files is not one to write to in place");
    }
    possible
}

#[test]
fn small_files_that_do_not_shrink_are_written_over() {
    if !is_possible() {
        return;
    }
    let fast = ApplyOptions::default();
    assert!(stays("old", "new", fast));
    assert!(stays("old", "longer", fast));
    assert!(stays("old", &"x".repeat(4096), fast));
    assert!(!stays("old", &"x".repeat(4097), fast));
    assert!(!stays("older", "new", fast));
    assert!(!stays("", "new", fast), "no block is there");
    assert!(!stays("old", "new", DURABLE));
}

#[test]
fn what_has_a_second_name_keeps_its_content_there() {
    let root = package(&[("a.yaml", "old")]);
    let other = root.path().join("copy");
    fs::hard_link(root.path().join("a.yaml"), &other).expect("a link");
    apply(
        root.path(),
        &[write("a.yaml", "new")],
        ApplyOptions::default(),
    )
    .expect("applies");
    assert_eq!(fs::read_to_string(other).expect("a file"), "old");
}

/// A package in which `a.yaml` and `b.yaml` are to be written over and only the first was.
fn interrupted() -> Option<tempfile::TempDir> {
    if !is_possible() {
        return None;
    }
    let root = package(&[("a.yaml", "old a"), ("b.yaml", "old b")]);
    let changes = [write("a.yaml", "new a"), write("b.yaml", "new b")];
    let steps = Steps::hooked(Arc::new(|call, name| {
        match call == "overwrite" && name == "b.yaml" {
            true => Err(io::Error::other("stopped")),
            false => Ok(()),
        }
    }));
    let error = apply_stepwise(root.path(), &changes, ApplyOptions::default(), steps);
    assert!(matches!(error, Err(ApplyError::Unfinished { .. })));
    Some(root)
}

#[test]
fn the_rest_is_written_over_later() {
    let Some(root) = interrupted() else { return };
    let recovery = recover(root.path()).expect("recovers");
    let files = vec!["a.yaml".into(), "b.yaml".into()];
    assert_eq!(recovery, Some(Recovery::Finished { files }));
    let expected = [("a.yaml", "new a"), ("b.yaml", "new b")];
    let expected: Snapshot = expected.map(|(k, v)| (k.into(), v.into())).into();
    assert_eq!(snapshot(root.path()), expected);
}

#[test]
fn what_was_changed_since_is_not_written_over() {
    for path in ["a.yaml", "b.yaml"] {
        let Some(root) = interrupted() else { return };
        fs::write(root.path().join(path), "by hand").expect("a file");
        let before = snapshot(root.path());
        let error = recover(root.path()).expect_err("must refuse");
        assert!(matches!(&error, RecoverError::Changed { path: at } if at == path));
        assert_eq!(snapshot(root.path()), before);
    }
}

#[test]
fn what_was_deleted_since_stays_so() {
    let Some(root) = interrupted() else { return };
    fs::remove_file(root.path().join("b.yaml")).expect("removes");
    recover(root.path()).expect("recovers");
    let expected: Snapshot = [("a.yaml".into(), "new a".into())].into();
    assert_eq!(snapshot(root.path()), expected);
}
