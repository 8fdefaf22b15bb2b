//! Homes under different names.

use std::path::PathBuf;

use super::{Homes, locate, parse_mounts, passwd_homes, unescaped};

#[test]
fn homes_are_found_through_other_mounts() {
    let directory = std::env::temp_dir().canonicalize().unwrap();
    let directory = directory.join(format!("kiln-homes-{}", std::process::id()));
    let (home, shared, beside) = (
        directory.join("home"),
        directory.join("shared"),
        directory.join("beside"),
    );
    for path in [&home, &shared, &shared.join("inner"), &beside] {
        std::fs::create_dir_all(path).unwrap();
    }
    // The home is `/users/me` of a disk, of which `/users` is mounted a second time.
    let mounts = format!(
        "1 0 8:1 / / rw - ext4 a rw\n2 1 8:2 /users/me {} rw - ext4 b rw\n3 1 8:2 {} {} rw - ext4 b rw\n",
        home.display(),
        "/users",
        shared.display(),
    );
    let homes = Homes::new(
        [home.clone()].into_iter(),
        parse_mounts(mounts.as_bytes()).collect(),
    );
    for (path, expected) in [
        (&home, true),
        (&directory, true),
        (&shared, true),
        (&shared.join("inner"), false),
        (&beside, false),
        (&directory.join("beside/.."), true),
    ] {
        assert_eq!(homes.are_shown_by(path), expected, "{}", path.display());
    }
    assert!(homes.are_at(&home) && !homes.are_at(&directory));
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn directories_of_the_system_are_not_homes() {
    let paths = ["/", "/usr/", "/bin", "/usr/../usr/sbin"].map(PathBuf::from);
    let homes = Homes::new(paths.into_iter(), Vec::new());
    assert!(!homes.are_shown_by("/usr".as_ref()));
    assert!(!homes.are_shown_by("/bin".as_ref()));
}

#[test]
fn lines_of_the_system_are_read() {
    let passwd =
        b"root:x:0:0:root:/root:/bin/sh\n+\nme:x:7:7::/home/me:\nme2:x:7:7::/home/two\nx:y\nbob:x:1000:1000::/home/bob:\nnobody:x:65534:65534::/home\n";
    let expected = ["/home/me", "/home/two", "/home/bob"].map(PathBuf::from);
    assert_eq!(passwd_homes(passwd, &[7]), expected);
    assert_eq!(unescaped(br"/a\040b\134\0"), PathBuf::from(r"/a b\\0"));
    let mounts: Vec<_> =
        parse_mounts(b"1 0 8:1 / / rw\n2 1 8:2 /x /a rw\n3 1 8:3 / /a rw\n\n").collect();
    let located = locate("/a/b".as_ref(), &mounts).unwrap();
    assert_eq!(located, ("8:3".into(), PathBuf::from("/b")));
}
