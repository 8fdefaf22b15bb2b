//! Nothing outside the package is reached: not by paths, not by links, not by journals.

use std::os::unix::fs::{MetadataExt, symlink};
use std::path::PathBuf;

use super::*;
use crate::dir::Stamp;
use crate::journal::{Fingerprint, Overwrite, temporary_name};

/// A package beside a directory that must not change.
struct Neighbours {
    base: tempfile::TempDir,
    outside: Snapshot,
}

impl Neighbours {
    fn new() -> Neighbours {
        let base = package(&[
            ("pkg/a.yaml", "old"),
            ("pkg/dir/b.yaml", "old"),
            ("outside/secret.yaml", "secret"),
        ]);
        let outside = snapshot(&base.path().join("outside"));
        Neighbours { base, outside }
    }

    fn root(&self) -> PathBuf {
        self.base.path().join("pkg")
    }

    fn link(&self, name: &str, target: &str) {
        symlink(target, self.root().join(name)).expect("a link");
    }

    #[track_caller]
    fn refuses(&self, path: &str, reason: &str) {
        let before = snapshot(self.base.path());
        let changes = [write("a.yaml", "new"), write(path, "x")];
        let error = apply(&self.root(), &changes, DURABLE).expect_err(path);
        let text = kiln_go::error_chain(&error);
        assert!(text.contains(reason), "{path:?}: {text}");
        assert_eq!(snapshot(self.base.path()), before, "{path:?}");
    }

    #[track_caller]
    fn assert_outside_untouched(&self) {
        assert_eq!(snapshot(&self.base.path().join("outside")), self.outside);
    }
}

#[test]
fn bad_paths_are_refused() {
    let neighbours = Neighbours::new();
    let long = "x".repeat(300);
    for (path, reason) in [
        ("", "empty"),
        (".", "empty"),
        ("../outside/secret.yaml", "leads out"),
        ("dir/../../outside/secret.yaml", "leads out"),
        ("..", "leads out"),
        ("/etc/passwd", "absolute"),
        ("a\0b.yaml", "NUL"),
        (
            "dir",
            "config.kubernetes.io/path cannot be a directory: dir",
        ),
        ("a.yaml/b.yaml", "a.yaml is not a directory"),
        (long.as_str(), "name too long"),
        (&format!("new/{long}"), "name too long"),
        (&format!("{long}/new.yaml"), "name too long"),
    ] {
        neighbours.refuses(path, reason);
    }
    neighbours.assert_outside_untouched();
}

#[test]
fn links_that_lead_out_are_refused() {
    let neighbours = Neighbours::new();
    let absolute = neighbours.base.path().join("outside/secret.yaml");
    neighbours.link("file.yaml", "../outside/secret.yaml");
    neighbours.link("absolute.yaml", &absolute.display().to_string());
    neighbours.link("new.yaml", "../outside/new.yaml");
    neighbours.link("parent.yaml", "..");
    neighbours.link("root.yaml", "/");
    neighbours.link("self.yaml", ".");
    neighbours.link("linkdir", "../outside");
    neighbours.link("inner", "dir");
    neighbours.link("chain.yaml", "linkdir/secret.yaml");
    neighbours.link("loop.yaml", "loop.yaml");
    neighbours.link("prefix.yaml", "../pkg-other/x.yaml");
    for (path, reason) in [
        (
            "file.yaml",
            "leads out of the package, to ../outside/secret.yaml",
        ),
        ("absolute.yaml", "leads out of the package, to /"),
        ("new.yaml", "leads out"),
        ("parent.yaml", "leads out"),
        ("root.yaml", "leads out"),
        ("self.yaml", "cannot be a directory: self.yaml"),
        ("linkdir/x.yaml", "linkdir is a symbolic link"),
        ("inner/b.yaml", "inner is a symbolic link"),
        ("linkdir", "leads out"),
        ("chain.yaml", "leads out"),
        ("loop.yaml", "too many levels"),
        ("prefix.yaml", "leads out"),
    ] {
        neighbours.refuses(path, reason);
    }
    let deletion = apply(
        &neighbours.root(),
        &[delete("linkdir/secret.yaml")],
        DURABLE,
    );
    assert!(deletion.is_err(), "deleted through a linked directory");
    neighbours.assert_outside_untouched();
}

#[test]
fn a_pipe_is_refused_without_waiting() {
    let neighbours = Neighbours::new();
    let path = neighbours.root().join("pipe.yaml");
    let status = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(status.expect("mkfifo runs").success());
    let outcome = apply(&neighbours.root(), &[write("pipe.yaml", "x")], DURABLE);
    let Err(ApplyError::Path { source, .. }) = outcome else {
        panic!("{outcome:?}");
    };
    assert!(matches!(source, PathError::NotAFile));
}

/// A whole, committed journal for this package, written by another program.
fn forge(root: &Path, edit: impl FnOnce(&mut Journal)) {
    let mut journal = Journal {
        package: fs::metadata(root).expect("a directory").ino(),
        directories: Vec::new(),
        puts: Vec::new(),
        overwrites: Vec::new(),
        deletes: Vec::new(),
    };
    edit(&mut journal);
    let plan = journal.plan();
    let text = format!("{plan}{}", Journal::commit(&plan));
    fs::write(root.join(JOURNAL), text).expect("a journal");
}

fn inside(path: &str) -> PackagePath {
    PackagePath::new(path).expect("a good path")
}

fn put(path: &str, content: &str) -> Put {
    Put {
        path: inside(path),
        temporary: temporary_name(1, 0),
        content: Fingerprint::of(content.as_bytes()),
    }
}

#[test]
fn a_forged_journal_reaches_nothing_outside() {
    let neighbours = Neighbours::new();
    let root = neighbours.root();
    neighbours.link("linkdir", "../outside");
    let bait = neighbours
        .base
        .path()
        .join("outside")
        .join(temporary_name(1, 0));
    let edits: [fn(&mut Journal); 3] = [
        |journal| journal.deletes.push(inside("linkdir/secret.yaml")),
        |journal| {
            journal.overwrites.push(Overwrite {
                path: inside("linkdir/secret.yaml"),
                old: Stamp::read(&mut "1 1 1 1".split(' ')).expect("a stamp"),
                content: Fingerprint::of(b""),
            });
        },
        |journal| journal.puts.push(put("linkdir/secret.yaml", "evil")),
    ];
    for edit in edits {
        fs::write(&bait, "evil").expect("a file");
        forge(&root, edit);
        assert!(recover(&root).is_err());
        assert_eq!(fs::read_to_string(&bait).expect("still there"), "evil");
        fs::remove_file(&bait).expect("removed");
        neighbours.assert_outside_untouched();
    }
    // A link in the place of the temporary is not followed, and one in the place of the target is replaced.
    forge(&root, |journal| journal.puts.push(put("a.yaml", "secret")));
    let temporary = root.join(temporary_name(1, 0));
    symlink("../outside/secret.yaml", &temporary).expect("a link");
    assert!(matches!(recover(&root), Err(RecoverError::Content { .. })));
    fs::remove_file(&temporary).expect("removed");
    fs::write(&temporary, "inner").expect("a file");
    neighbours.link("victim.yaml", "../outside/secret.yaml");
    forge(&root, |journal| {
        journal.puts.push(put("victim.yaml", "inner"))
    });
    recover(&root).expect("recovers");
    assert_eq!(snapshot(&root)["victim.yaml"], "inner");
    neighbours.assert_outside_untouched();
}

#[test]
fn a_journal_from_elsewhere_is_not_followed() {
    let neighbours = Neighbours::new();
    let root = neighbours.root();
    forge(&root, |journal| {
        journal.package ^= 1;
        journal.deletes.push(inside("a.yaml"));
    });
    assert!(matches!(recover(&root), Err(RecoverError::Foreign)));
    fs::write(root.join(JOURNAL), "kiln-journal 1\nplan x\nrm -rf\n").expect("a journal");
    assert!(matches!(recover(&root), Err(RecoverError::Damaged)));
    fs::remove_file(root.join(JOURNAL)).expect("removed");
    neighbours.link(JOURNAL, "../outside/secret.yaml");
    assert!(matches!(recover(&root), Err(RecoverError::Damaged)));
    assert_eq!(snapshot(&root)["a.yaml"], "old");
    neighbours.assert_outside_untouched();
}

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn a_journal_of_another_user_is_not_followed() {
    let neighbours = Neighbours::new();
    let root = neighbours.root();
    let delete_a = |journal: &mut Journal| journal.deletes.push(inside("a.yaml"));
    forge(&root, delete_a);
    let other = Some(12345);
    if let Err(error) = std::os::unix::fs::chown(root.join(JOURNAL), other, None) {
        eprintln!("SKIPPED a_journal_of_another_user_is_not_followed: {error}");
        return;
    }
    assert!(matches!(recover(&root), Err(RecoverError::NotOurs)));
    assert_eq!(snapshot(&root)["a.yaml"], "old");
    // The directory is theirs, so they could have deleted the file themselves.
    std::os::unix::fs::chown(&root, other, None).expect("chown");
    assert!(recover(&root).expect("recovers").is_some());
    assert!(!snapshot(&root).contains_key("a.yaml"));
}

#[test]
fn damaged_content_is_not_put_in_place() {
    let neighbours = Neighbours::new();
    let root = neighbours.root();
    forge(&root, |journal| journal.puts.push(put("a.yaml", "whole")));
    fs::write(root.join(temporary_name(1, 0)), "who").expect("a file");
    assert!(matches!(recover(&root), Err(RecoverError::Content { path }) if path == "a.yaml"));
    assert_eq!(snapshot(&root)["a.yaml"], "old");
}
