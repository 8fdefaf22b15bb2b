//! Copies, and errors.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::ExitCode;

fn cp(arguments: &[&str]) -> bool {
    let arguments = arguments.iter().map(|argument| (*argument).to_owned());
    let code = super::main(arguments);
    format!("{code:?}") == format!("{:?}", ExitCode::SUCCESS)
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn what_is_in_a_directory_is_copied_into_another() {
    let directory = tempfile::tempdir().unwrap();
    let [from, to] = ["from", "to"].map(|name| directory.path().join(name));
    fs::create_dir_all(from.join("deep/er")).unwrap();
    fs::create_dir(&to).unwrap();
    fs::write(from.join("program"), "new").unwrap();
    fs::set_permissions(from.join("program"), Permissions::from_mode(0o555)).unwrap();
    fs::write(from.join("deep/er/file"), "x").unwrap();
    fs::set_permissions(from.join("deep"), Permissions::from_mode(0o555)).unwrap();
    symlink("program", from.join("link")).unwrap();
    // Remains of an earlier copy, in place of a link and of a read-only file.
    fs::write(to.join("link"), "old").unwrap();
    fs::write(to.join("program"), "old").unwrap();
    fs::set_permissions(to.join("program"), Permissions::from_mode(0o444)).unwrap();
    fs::write(to.join("other"), "kept").unwrap();

    let source = format!("{}/.", from.display());
    for _ in 0..2 {
        assert!(cp(&["-a", &source, to.to_str().unwrap()]));
        assert_eq!(fs::read(to.join("program")).unwrap(), b"new");
        assert_eq!(mode(&to.join("program")), 0o555);
        assert_eq!(mode(&to.join("deep")), 0o555);
        assert_eq!(fs::read(to.join("deep/er/file")).unwrap(), b"x");
        assert_eq!(
            fs::read_link(to.join("link")).unwrap(),
            Path::new("program")
        );
        assert_eq!(fs::read(to.join("other")).unwrap(), b"kept");
        fs::set_permissions(to.join("deep"), Permissions::from_mode(0o755)).unwrap();
        fs::remove_dir_all(to.join("deep")).unwrap();
    }
    fs::set_permissions(from.join("deep"), Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn files_and_directories_are_copied_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    fs::write(path("a"), "a").unwrap();
    fs::create_dir(path("d")).unwrap();
    assert!(cp(&["-a", &path("a"), &path("b")]));
    assert!(cp(&["-a", &path("a"), &path("b"), &path("d")]));
    assert!(cp(&["-a", &path("d"), &path("e")]));
    assert!(cp(&["-a", &path("d"), &path("e")]));
    for copied in ["b", "d/a", "d/b", "e/a", "e/d/b"] {
        assert_eq!(fs::read(path(copied)).unwrap(), b"a", "{copied}");
    }
}

#[test]
fn what_cannot_be_done_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    fs::write(path("a"), "a").unwrap();
    assert!(!cp(&[]));
    assert!(!cp(&["-a", &path("a")]));
    assert!(!cp(&["-r", &path("a"), &path("b")]));
    assert!(!cp(&["-a", &path("missing"), &path("b")]));
    assert!(!cp(&["-a", &path("a"), &path("a"), &path("b")]));
    assert!(!cp(&["-a", &path("a"), &path("no/such/place")]));
}
