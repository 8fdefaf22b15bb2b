//! Users of images.

use std::os::fd::AsFd;

use super::{Users, is_empty_directory};

#[test]
fn users_are_found_by_name_and_number() {
    let users = Users::parse(
        b"root:x:0:0:root:/root:/bin/sh\nbroken\nnobody:x:65534:65533:nobody:/home/nobody:/bin/false\nbare:x:7:7::relative:/\n",
    );
    assert_eq!(users.ids("nobody"), Some((65534, 65533)));
    assert_eq!(users.ids("broken"), None);
    assert_eq!(users.home(65534), Some("/home/nobody"));
    assert_eq!(users.home(7), None);
    assert_eq!(users.home(8), None);
}

#[test]
fn links_are_resolved_inside_of_the_image() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("root");
    std::fs::create_dir_all(root.join("etc")).unwrap();
    std::fs::create_dir_all(root.join("real")).unwrap();
    std::fs::write(
        directory.path().join("passwd"),
        "nobody:x:1:1::/outside:/\n",
    )
    .unwrap();
    std::os::unix::fs::symlink("../../passwd", root.join("etc/passwd")).unwrap();
    let opened = std::fs::File::open(&root).unwrap();
    assert_eq!(Users::read(opened.as_fd()).unwrap().ids("nobody"), None);
    std::os::unix::fs::symlink("/real", root.join("link")).unwrap();
    let is_empty = |expected: &[&str], path: &str| {
        is_empty_directory(opened.as_fd(), path, &|path| expected.contains(&path))
    };
    assert!(is_empty(&[], "/link"));
    std::fs::create_dir(root.join("real/inside")).unwrap();
    assert!(!is_empty(&[], "/real"));
    assert!(is_empty(&["/real/inside"], "/real"));
    std::fs::write(root.join("real/inside/file"), "").unwrap();
    assert!(!is_empty(&["/real/inside", "/real/inside/file"], "/real"));
    assert!(!is_empty(&[], "/missing"));
}
