//! Whatever happens to a change of many files, afterwards all of them are old or all of them are new.

mod crash;
mod in_place;
mod modes;
mod paths;
mod properties;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kiln_krm::package::FileAction;

use super::*;
use crate::recover::{RecoverError, Recovery, recover};

/// All files below a directory with their content; links as `-> target`, directories as `/`.
type Snapshot = BTreeMap<String, String>;

fn snapshot(root: &Path) -> Snapshot {
    fn visit(root: &Path, dir: &Path, all: &mut Snapshot) {
        for entry in fs::read_dir(dir).expect("a directory") {
            let entry = entry.expect("an entry");
            let path = entry.path();
            let name = path.strip_prefix(root).expect("below root").display();
            let kind = entry.file_type().expect("a type");
            if kind.is_dir() {
                all.insert(name.to_string(), "/".into());
                visit(root, &path, all);
            } else if kind.is_symlink() {
                let target = fs::read_link(&path).expect("a link");
                all.insert(name.to_string(), format!("-> {}", target.display()));
            } else {
                let content = fs::read(&path).expect("a file");
                all.insert(name.to_string(), String::from_utf8_lossy(&content).into());
            }
        }
    }
    let mut all = Snapshot::new();
    visit(root, root, &mut all);
    all
}

fn write(path: &str, content: &str) -> FileChange {
    FileChange {
        path: path.into(),
        action: FileAction::Write(content.into()),
    }
}

fn delete(path: &str) -> FileChange {
    FileChange {
        path: path.into(),
        action: FileAction::Delete,
    }
}

/// A directory with these files.
fn package(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a temporary directory");
    for (path, content) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, content).expect("a file");
    }
    root
}

/// Lets `allowed` steps happen and then none any more, as if the process were gone.
fn stop_after(allowed: usize) -> Steps {
    let count = AtomicUsize::new(0);
    Steps::hooked(Arc::new(move |_, _| {
        match count.fetch_add(1, Ordering::SeqCst) < allowed {
            true => Ok(()),
            false => Err(io::Error::other("stopped")),
        }
    }))
}

const DURABLE: ApplyOptions = ApplyOptions {
    durability: Durability::Durable,
    new_files: NewFiles::Umask,
};

#[test]
fn changes_are_made_and_nothing_is_left_over() {
    for options in [ApplyOptions::default(), DURABLE] {
        let root = package(&[("a.yaml", "old"), ("b/c.yaml", "same"), ("gone.yaml", "x")]);
        let applied = apply(
            root.path(),
            &[
                write("a.yaml", "new"),
                write("b/c.yaml", "same"),
                write("d/e/f.yaml", "f"),
                write("d/g.yaml", "g"),
                delete("gone.yaml"),
                delete("never-there.yaml"),
                delete("no/directory.yaml"),
            ],
            options,
        )
        .expect("applies");
        assert_eq!(applied.written, ["a.yaml", "d/e/f.yaml", "d/g.yaml"]);
        assert_eq!(applied.unchanged, ["b/c.yaml"]);
        assert_eq!(applied.deleted, ["gone.yaml"]);
        let expected = [
            ("a.yaml", "new"),
            ("b", "/"),
            ("b/c.yaml", "same"),
            ("d", "/"),
            ("d/e", "/"),
            ("d/e/f.yaml", "f"),
            ("d/g.yaml", "g"),
        ];
        let expected: Snapshot = expected.map(|(k, v)| (k.into(), v.into())).into();
        assert_eq!(snapshot(root.path()), expected);
        assert_eq!(recover(root.path()).expect("recovers"), None);
    }
}

#[test]
fn no_change_touches_nothing() {
    let root = package(&[("a.yaml", "same")]);
    let before = fs::metadata(root.path()).and_then(|meta| meta.modified());
    let applied = apply(root.path(), &[write("a.yaml", "same")], DURABLE).expect("applies");
    assert_eq!(applied.unchanged, ["a.yaml"]);
    let after = fs::metadata(root.path()).and_then(|meta| meta.modified());
    assert_eq!(before.expect("a time"), after.expect("a time"));
}

#[test]
fn a_journal_in_the_way_stays() {
    let root = package(&[("a.yaml", "old"), (JOURNAL, "foreign")]);
    let error = apply(root.path(), &[write("a.yaml", "new")], DURABLE).expect_err("must refuse");
    assert!(matches!(error, ApplyError::Stage { path, .. } if path == JOURNAL));
    let after = snapshot(root.path());
    assert_eq!(after[JOURNAL], "foreign");
    assert_eq!(after["a.yaml"], "old");
}

#[test]
fn two_changes_of_one_file_are_refused() {
    let root = package(&[("a.yaml", "old")]);
    std::os::unix::fs::symlink("a.yaml", root.path().join("link.yaml")).expect("a link");
    let before = snapshot(root.path());
    for changes in [
        [write("a.yaml", "1"), write("./a.yaml", "2")],
        [write("a.yaml", "1"), write("link.yaml", "2")],
        [write("a.yaml", "1"), delete("a.yaml")],
    ] {
        let error = apply(root.path(), &changes, DURABLE).expect_err("must refuse");
        assert!(matches!(error, ApplyError::Twice { .. }), "{error:?}");
        assert_eq!(snapshot(root.path()), before);
    }
}

#[test]
fn the_same_change_through_links_is_made_once() {
    let root = package(&[("a.yaml", "old"), ("sub/c.yaml", "old")]);
    let link = |target: &str, name: &str| {
        std::os::unix::fs::symlink(target, root.path().join(name)).expect("a link");
    };
    link("a.yaml", "b.yaml");
    link("b.yaml", "chain.yaml");
    link("../a.yaml", "sub/up.yaml");
    let names = ["a.yaml", "b.yaml", "chain.yaml", "sub/up.yaml"];
    let changes = names.map(|name| write(name, "new"));
    for durability in [Durability::Fast, Durability::Durable] {
        let options = ApplyOptions {
            durability,
            ..ApplyOptions::default()
        };
        std::fs::write(root.path().join("a.yaml"), "old").expect("a file");
        let applied = apply(root.path(), &changes, options).expect("applies");
        assert_eq!(applied.written, names);
        for name in ["b.yaml", "chain.yaml", "sub/up.yaml"] {
            let path = root.path().join(name);
            assert!(path.is_symlink(), "{name}");
            assert_eq!(std::fs::read_to_string(path).expect("a file"), "new");
        }
        let applied = apply(root.path(), &changes, options).expect("applies");
        assert_eq!(applied.unchanged, names);
    }
}

#[test]
fn hard_links_become_files_of_their_own() {
    let root = package(&[("a.yaml", "old")]);
    let at = |name: &str| root.path().join(name);
    std::fs::hard_link(at("a.yaml"), at("b.yaml")).expect("a link");
    let text = |name: &str| std::fs::read_to_string(at(name)).expect("a file");
    let changes = [write("a.yaml", "new"), write("b.yaml", "new")];
    apply(root.path(), &changes, ApplyOptions::default()).expect("applies");
    assert_eq!(
        (text("a.yaml"), text("b.yaml")),
        ("new".into(), "new".into())
    );
    std::fs::remove_file(at("b.yaml")).expect("removed");
    std::fs::hard_link(at("a.yaml"), at("b.yaml")).expect("a link");
    apply(
        root.path(),
        &[write("a.yaml", "newer")],
        ApplyOptions::default(),
    )
    .expect("applies");
    // The second name keeps what it was: nothing was to be done to it.
    assert_eq!(
        (text("a.yaml"), text("b.yaml")),
        ("newer".into(), "new".into())
    );
}
