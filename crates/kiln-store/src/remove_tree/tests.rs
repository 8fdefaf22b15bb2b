//! Trees that are too deep for the stack, and links.

use super::*;

/// Makes nested directories, each with a file, one level after the other.
fn nest(top: &Path, levels: usize) {
    let mut directory = open(CWD, top.as_os_str().as_bytes()).unwrap();
    for _ in 0..levels {
        rustix::fs::mkdirat(&directory, "d", Mode::RWXU).unwrap();
        let child = open(directory.as_fd(), b"d").unwrap();
        let flags = OFlags::CREATE | OFlags::WRONLY;
        rustix::fs::openat(&child, "file", flags, Mode::RWXU).unwrap();
        directory = child;
    }
}

#[test]
fn a_deep_tree_is_removed() {
    let directory = tempfile::tempdir().unwrap();
    let top = directory.path().join("top");
    std::fs::create_dir(&top).unwrap();
    nest(&top, 5_000);
    // Names that are taken.
    std::fs::create_dir_all(top.join("deep-1/full")).unwrap();
    std::fs::write(top.join("deep-2"), "").unwrap();
    // With the stack of a small thread.
    let removed = std::thread::Builder::new()
        .stack_size(256 << 10)
        .spawn(move || remove_tree_at(&top));
    removed.unwrap().join().unwrap().unwrap();
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn a_link_is_neither_followed_nor_removed_as_a_directory() {
    let directory = tempfile::tempdir().unwrap();
    let (kept, top) = (directory.path().join("kept"), directory.path().join("top"));
    std::fs::create_dir_all(kept.join("inside")).unwrap();
    std::fs::create_dir(&top).unwrap();
    std::os::unix::fs::symlink(&kept, top.join("link")).unwrap();
    assert!(remove_tree_at(&top.join("link")).is_err());
    remove_tree_at(&top).unwrap();
    assert!(kept.join("inside").exists() && !top.exists());
}
