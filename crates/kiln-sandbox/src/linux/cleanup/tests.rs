//! Trees that are hard to remove.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use super::*;

/// A directory for one test, in memory if possible: disks are slow with directories.
fn test_directory(name: &str) -> PathBuf {
    let name = format!("kiln-cleanup-{name}-{}", std::process::id());
    let in_memory = Path::new("/dev/shm");
    let is_writable = rustix::fs::access(in_memory, rustix::fs::Access::WRITE_OK).is_ok();
    let path = match is_writable {
        true => in_memory.join(name),
        false => std::env::temp_dir().join(name),
    };
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir(&path).unwrap();
    path
}

#[test]
fn links_are_not_followed() {
    let (outside, inside) = (test_directory("outside"), test_directory("inside"));
    std::fs::write(outside.join("kept"), "").unwrap();
    std::fs::create_dir(inside.join("1")).unwrap();
    symlink(&outside, inside.join("link")).unwrap();
    symlink(&outside, inside.join("1/2")).unwrap();
    symlink("nowhere", inside.join("3")).unwrap();
    remove_tree(&inside).unwrap();
    assert!(!inside.exists());
    assert!(outside.join("kept").exists());
    remove_tree(&outside).unwrap();
}

#[test]
fn no_depth_is_too_deep() {
    let top = test_directory("deep");
    let mut directory = open_directory(CWD, &top).unwrap();
    // More levels than a process may have open files, with names that collide with those at the top.
    for level in 0..3000 {
        rustix::fs::mkdirat(&directory, "1", Mode::RWXU).unwrap();
        if level % 500 == 0 {
            rustix::fs::mkdirat(&directory, "2", Mode::RWXU).unwrap();
        }
        directory = open_directory(directory.as_fd(), "1").unwrap();
    }
    drop(directory);
    remove_tree(&top).unwrap();
    assert!(!top.exists());
}

#[test]
fn closed_directories_are_opened() {
    let top = test_directory("closed");
    let inner = top.join("a/b");
    std::fs::create_dir_all(inner.join("c")).unwrap();
    std::fs::write(inner.join("c/file"), "").unwrap();
    for path in [inner.join("c"), inner, top.join("a")] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o000)).unwrap();
    }
    remove_tree(&top).unwrap();
    assert!(!top.exists());
}
