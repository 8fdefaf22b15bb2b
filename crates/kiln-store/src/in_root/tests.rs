//! Resolution by hand and by the kernel agree, and neither leaves the root.

use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;

use proptest::prelude::*;
use rustix::fs::fstat;

use super::*;

/// An entry of a tree.
#[derive(Clone, Debug)]
enum Entry {
    Directory,
    File,
    Link(String),
}

fn names() -> impl Strategy<Value = String> {
    let component = prop_oneof![
        4 => "[abc]".prop_map(|name| name),
        1 => Just("..".to_owned()),
        1 => Just(".".to_owned()),
    ];
    let path = prop::collection::vec(component, 1..5);
    (any::<bool>(), path).prop_map(|(is_absolute, path)| {
        let path = path.join("/");
        match is_absolute {
            true => format!("/{path}"),
            false => path,
        }
    })
}

fn entries() -> impl Strategy<Value = Vec<(String, Entry)>> {
    let entry = prop_oneof![
        Just(Entry::Directory),
        Just(Entry::File),
        names().prop_map(Entry::Link),
    ];
    let path = prop::collection::vec("[abc]", 1..4).prop_map(|path| path.join("/"));
    prop::collection::vec((path, entry), 0..12)
}

fn open_root(path: &Path) -> OwnedFd {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).unwrap()
}

/// Creates a tree. Entries that do not fit are left out.
fn build(root: &Path, entries: &[(String, Entry)]) {
    for (path, entry) in entries {
        let path = root.join(path);
        // Only real directories, so that nothing is created outside.
        let parent = path.parent().unwrap();
        let mut ancestors = parent.ancestors().take_while(|ancestor| *ancestor != root);
        if ancestors.any(Path::is_symlink) || path.symlink_metadata().is_ok() {
            continue;
        }
        if std::fs::create_dir_all(parent).is_err() {
            continue;
        }
        let _ = match entry {
            Entry::Directory => std::fs::create_dir(&path),
            Entry::File => std::fs::write(&path, "x"),
            Entry::Link(target) => symlink(target, &path),
        };
    }
}

/// The inodes below a directory.
fn inodes(directory: &Path) -> Vec<u64> {
    let mut found = vec![directory.metadata().unwrap().ino()];
    for entry in std::fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        found.push(entry.metadata().unwrap().ino());
        if entry.file_type().unwrap().is_dir() {
            found.extend(inodes(&entry.path()));
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_ways_lead_to_the_same_directory(entries in entries(), path in names()) {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("a"), "outside").unwrap();
        let root_path = directory.path().join("root");
        std::fs::create_dir(&root_path).unwrap();
        build(&root_path, &entries);
        let root = open_root(&root_path);
        let by_hand = walk::<io::Error>(root.as_fd(), path.as_bytes(), &mut missing);
        let by_hand = by_hand.and_then(|walked| match walked.file {
            None => walked.into_directory(root.as_fd()),
            Some(_) => Err(Errno::NOTDIR.into()),
        });
        let inode = by_hand.as_ref().ok().map(|fd| fstat(fd).unwrap().st_ino);
        if let Some(inode) = inode {
            prop_assert!(inodes(&root_path).contains(&inode));
        }
        if let Some(by_kernel) = open_with_kernel(root.as_fd(), path.as_bytes(), DIRECTORY) {
            let by_kernel = by_kernel.ok().map(|fd| fstat(fd).unwrap().st_ino);
            prop_assert_eq!(inode, by_kernel, "{}", path);
        }
    }

    #[test]
    fn a_resolved_file_is_the_one_that_is_opened(entries in entries(), path in names()) {
        let directory = tempfile::tempdir().unwrap();
        let root_path = directory.path().join("root");
        std::fs::create_dir(&root_path).unwrap();
        build(&root_path, &entries);
        let root = open_root(&root_path);
        let resolved = resolve_file(root.as_fd(), path.as_bytes()).ok();
        let opened = open_file(root.as_fd(), path.as_bytes()).ok();
        if let Some(resolved) = &resolved {
            let root_path = root_path.canonicalize().unwrap();
            let without_links = root_path.join(resolved);
            prop_assert_eq!(without_links.canonicalize().unwrap(), without_links);
        }
        // The kernel does not open `file/.`.
        if let Some(opened) = opened {
            let resolved = resolved.map(|path| root_path.join(path).metadata().unwrap().ino());
            prop_assert_eq!(resolved, Some(opened.metadata().unwrap().ino()), "{}", path);
        }
    }

    #[test]
    fn created_directories_are_inside(entries in entries(), path in names()) {
        let directory = tempfile::tempdir().unwrap();
        let root_path = directory.path().join("root");
        std::fs::create_dir(&root_path).unwrap();
        build(&root_path, &entries);
        let root = open_root(&root_path);
        let mut create = |parent: BorrowedFd<'_>, name: &[u8]| -> io::Result<OwnedFd> {
            rustix::fs::mkdirat(parent, name, Mode::RWXU)?;
            Ok(rustix::fs::openat(parent, name, DIRECTORY, Mode::empty())?)
        };
        let created = create_directories(root.as_fd(), path.as_bytes(), &mut create);
        if let Ok(created) = created {
            prop_assert!(inodes(&root_path).contains(&fstat(&created).unwrap().st_ino));
        }
        prop_assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
