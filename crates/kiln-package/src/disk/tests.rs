//! Every kind of entry, inside and outside of a package.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use super::*;

/// A package with every kind of entry, beside a directory that is not part of it.
fn package() -> tempfile::TempDir {
    let base = tempfile::tempdir().expect("a temporary directory");
    let root = base.path().join("pkg");
    fs::create_dir_all(root.join("dir")).expect("a directory");
    fs::create_dir(base.path().join("outside")).expect("a directory");
    fs::write(base.path().join("outside/secret.yaml"), "secret").expect("a file");
    fs::write(root.join("B.yaml"), "B").expect("a file");
    fs::write(root.join("a.yaml"), "a").expect("a file");
    fs::write(root.join("dir/é.yaml"), "e").expect("a file");
    for (target, link) in [
        ("a.yaml", "link.yaml"),
        ("dir", "linkdir"),
        ("../outside", "outdir"),
        ("../outside/secret.yaml", "out.yaml"),
        ("nowhere", "dangling.yaml"),
        ("loop.yaml", "loop.yaml"),
    ] {
        symlink(target, root.join(link)).expect("a link");
    }
    let made = std::process::Command::new("mkfifo")
        .arg(root.join("pipe.yaml"))
        .status();
    assert!(made.expect("mkfifo runs").success());
    base
}

fn open(base: &tempfile::TempDir, outside_links: OutsideLinks) -> DiskFiles {
    DiskFiles::open(&base.path().join("pkg"), outside_links).expect("opens")
}

#[test]
fn entries_come_in_byte_order_and_links_are_recognised() {
    use EntryKind::{Directory, File, Other, SymlinkToDirectory, SymlinkToFile};
    let base = package();
    for (policy, out, outdir) in [
        (OutsideLinks::Refuse, Other, Other),
        (OutsideLinks::Follow, SymlinkToFile, SymlinkToDirectory),
    ] {
        let listed: Vec<_> = open(&base, policy)
            .list("")
            .expect("lists")
            .into_iter()
            .map(|entry| (entry.name, entry.kind))
            .collect();
        let expected = [
            ("B.yaml", File),
            ("a.yaml", File),
            ("dangling.yaml", Other),
            ("dir", Directory),
            ("link.yaml", SymlinkToFile),
            ("linkdir", SymlinkToDirectory),
            ("loop.yaml", Other),
            ("out.yaml", out),
            ("outdir", outdir),
            ("pipe.yaml", Other),
        ];
        let expected: Vec<_> = expected
            .into_iter()
            .map(|(name, kind)| (name.to_owned(), kind))
            .collect();
        assert_eq!(listed, expected);
    }
}

#[test]
fn files_and_links_inside_are_read() {
    let base = package();
    for policy in [OutsideLinks::Refuse, OutsideLinks::Follow] {
        let files = open(&base, policy);
        assert_eq!(files.read("a.yaml").expect("reads"), b"a");
        assert_eq!(files.read("link.yaml").expect("reads"), b"a");
        assert_eq!(files.read("dir/é.yaml").expect("reads"), "e".as_bytes());
    }
}

#[test]
fn what_is_outside_is_read_only_if_links_may_lead_there() {
    let base = package();
    let error = open(&base, OutsideLinks::Refuse).read("out.yaml");
    let text = error.expect_err("must refuse").to_string();
    assert!(
        text.contains("leads out of the package, to ../outside/secret.yaml"),
        "{text}"
    );
    let followed = open(&base, OutsideLinks::Follow).read("out.yaml");
    assert_eq!(followed.expect("reads"), b"secret");
    for policy in [OutsideLinks::Refuse, OutsideLinks::Follow] {
        let files = open(&base, policy);
        for path in [
            "../outside/secret.yaml",
            "/etc/passwd",
            "outdir/secret.yaml",
            "linkdir/é.yaml",
            "a\0b",
            "",
        ] {
            assert!(files.read(path).is_err(), "{path}");
        }
        for dir in ["..", "/", "linkdir", "outdir", "a.yaml", "missing"] {
            assert!(files.list(dir).is_err(), "{dir}");
        }
    }
}

#[test]
fn odd_files_are_errors_and_never_wait() {
    let base = package();
    for policy in [OutsideLinks::Refuse, OutsideLinks::Follow] {
        let files = open(&base, policy);
        let text = |path| files.read(path).expect_err(path).to_string();
        assert_eq!(text("dir"), "read dir: is a directory");
        assert_eq!(text("pipe.yaml"), "pipe.yaml: not a regular file");
        assert_eq!(
            text("loop.yaml"),
            "loop.yaml: too many levels of symbolic links"
        );
        assert_eq!(
            text("dangling.yaml"),
            "dangling.yaml: no such file or directory"
        );
        assert_eq!(
            text("missing.yaml"),
            "missing.yaml: no such file or directory"
        );
    }
}

#[test]
fn a_name_that_is_not_text_matters_only_if_it_could_hold_resources() {
    let base = package();
    let root = base.path().join("pkg");
    fs::write(root.join(OsStr::from_bytes(b"caf\xe9.txt")), "x").expect("a file");
    let files = open(&base, OutsideLinks::Refuse);
    assert!(files.list("").is_ok());
    fs::write(root.join(OsStr::from_bytes(b"caf\xe9.yaml")), "x").expect("a file");
    let error = files.list("").expect_err("must refuse").to_string();
    assert!(error.contains("not UTF-8"), "{error}");
}

#[test]
fn what_was_read_is_known_to_have_changed() {
    type Change = fn(&Path);
    let changes: [(&str, Change); 6] = [
        ("a.yaml", |root| {
            fs::write(root.join("a.yaml"), "aa").expect("writes")
        }),
        ("a.yaml", |root| {
            fs::write(root.join("new"), "a").expect("writes");
            fs::rename(root.join("new"), root.join("a.yaml")).expect("renames");
        }),
        ("a.yaml", |root| {
            fs::remove_file(root.join("a.yaml")).expect("removes")
        }),
        ("dir/é.yaml", |root| {
            fs::remove_dir_all(root.join("dir")).expect("removes")
        }),
        ("", |root| fs::remove_dir_all(root).expect("removes")),
        ("", |root| {
            fs::rename(root, root.with_file_name("old")).expect("renames");
            fs::create_dir(root).expect("a directory");
        }),
    ];
    for policy in [OutsideLinks::Refuse, OutsideLinks::Follow] {
        for (number, (path, change)) in changes.into_iter().enumerate() {
            let base = package();
            let files = open(&base, policy);
            for path in ["a.yaml", "link.yaml", "dir/é.yaml"] {
                files.read(path).expect("reads");
            }
            // This one was not read, so it does not matter.
            fs::write(base.path().join("pkg/B.yaml"), "other").expect("writes");
            assert_eq!(files.changed_since_read(), None, "{number}");
            change(&base.path().join("pkg"));
            assert_eq!(
                files.changed_since_read().as_deref(),
                Some(path),
                "{number}"
            );
            // Reading it again does not make it the one that was read first.
            let _ = files.read("a.yaml");
            assert_eq!(
                files.changed_since_read().as_deref(),
                Some(path),
                "{number}"
            );
        }
    }
}

#[test]
fn an_interrupted_command_on_a_part_is_noticed() {
    let base = package();
    fs::write(base.path().join("pkg/dir").join(JOURNAL), "").expect("a file");
    let files = open(&base, OutsideLinks::Refuse);
    assert!(files.list("").is_ok());
    let error = files.list("dir").expect_err("must refuse").to_string();
    assert!(error.contains("was interrupted there"), "{error}");
}
