//! Permissions of old and new files, and files behind links.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use super::*;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("a file").mode() & 0o7777
}

#[test]
fn a_replaced_file_keeps_its_mode() {
    for bits in [0o600, 0o644, 0o755, 0o640] {
        let root = package(&[("a.yaml", "old")]);
        let path = root.path().join("a.yaml");
        fs::set_permissions(&path, fs::Permissions::from_mode(bits)).expect("chmod");
        apply(root.path(), &[write("a.yaml", "new")], DURABLE).expect("applies");
        assert_eq!(mode(&path), bits);
    }
}

#[test]
fn new_files_follow_the_umask_or_are_private() {
    let probe = tempfile::tempdir().expect("a temporary directory");
    fs::write(probe.path().join("f"), "").expect("a file");
    fs::create_dir(probe.path().join("d")).expect("a directory");
    let umask = (mode(&probe.path().join("f")), mode(&probe.path().join("d")));
    for (new_files, (file, directory)) in [
        (NewFiles::Umask, umask),
        (NewFiles::Private, (0o600, 0o700)),
    ] {
        let root = package(&[]);
        let options = ApplyOptions {
            new_files,
            ..ApplyOptions::default()
        };
        apply(root.path(), &[write("d/f.yaml", "x")], options).expect("applies");
        assert_eq!(mode(&root.path().join("d/f.yaml")), file);
        assert_eq!(mode(&root.path().join("d")), directory);
    }
}

#[test]
fn a_linked_file_is_written_where_it_is() {
    let root = package(&[("real/a.yaml", "old")]);
    let real = root.path().join("real/a.yaml");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o604)).expect("chmod");
    symlink("real", root.path().join("linked")).expect("a link");
    let canonical = root.path().canonicalize().expect("a path");
    let own_name = canonical.file_name().expect("a name").display();
    for (number, (name, target)) in [
        ("relative.yaml", "real/a.yaml".to_owned()),
        ("real/beside.yaml", "a.yaml".to_owned()),
        (
            "absolute.yaml",
            format!("{}/real/a.yaml", canonical.display()),
        ),
        ("chain.yaml", "relative.yaml".to_owned()),
        ("out-and-in.yaml", format!("../{own_name}/real/a.yaml")),
        ("through.yaml", "linked/a.yaml".to_owned()),
    ]
    .into_iter()
    .enumerate()
    {
        let link = root.path().join(name);
        symlink(&target, &link).expect("a link");
        let content = format!("content {number}");
        apply(root.path(), &[write(name, &content)], DURABLE).expect(name);
        assert_eq!(fs::read_to_string(&real).expect("a file"), content);
        assert_eq!(
            fs::read_link(&link).expect("still a link"),
            Path::new(&target)
        );
        assert_eq!(mode(&real), 0o604);
    }
    // A link to nothing makes its target, and deleting a link leaves its target alone.
    symlink("real/new.yaml", root.path().join("dangling.yaml")).expect("a link");
    let changes = [write("dangling.yaml", "n"), delete("chain.yaml")];
    apply(root.path(), &changes, DURABLE).expect("applies");
    let after = snapshot(root.path());
    assert_eq!(after["real/new.yaml"], "n");
    assert_eq!(after["dangling.yaml"], "-> real/new.yaml");
    assert!(!after.contains_key("chain.yaml") && after.contains_key("relative.yaml"));
}

#[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
#[test]
fn a_read_only_file_is_refused() {
    if rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED a_read_only_file_is_refused: root may write to every file");
        return;
    }
    let root = package(&[("a.yaml", "old")]);
    let path = root.path().join("a.yaml");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).expect("chmod");
    let error = apply(root.path(), &[write("a.yaml", "new")], DURABLE).expect_err("must refuse");
    assert!(matches!(error, ApplyError::Path { .. }), "{error:?}");
}

#[test]
fn thousands_of_files_need_few_descriptors() {
    let root = package(&[]);
    let changes: Vec<_> = (0..3000)
        .map(|n| write(&format!("d{}/f{n}.yaml", n % 7), "x"))
        .collect();
    let applied = apply(root.path(), &changes, ApplyOptions::default()).expect("applies");
    assert_eq!(applied.written.len(), 3000);
}

#[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
#[test]
fn a_file_that_cannot_be_deleted_is_refused_before_anything_changes() {
    if rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED a_file_that_cannot_be_deleted…: root may delete every file");
        return;
    }
    let root = package(&[("a.yaml", "old"), ("b/gone.yaml", "x")]);
    let before = snapshot(root.path());
    let directory = root.path().join("b");
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o555)).expect("chmod");
    let changes = [write("a.yaml", "new"), delete("b/gone.yaml")];
    let error = apply(root.path(), &changes, ApplyOptions::default()).expect_err("must refuse");
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).expect("chmod");
    assert!(matches!(error, ApplyError::Path { .. }), "{error:?}");
    assert_eq!(snapshot(root.path()), before);
}
