//! Directories that are not a safe store, and disks that are full or read-only.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;

use kiln_oci::PullPolicy;
use kiln_store::{OpenStoreError, PullError, Store, StoreError, StoreOptions, UnpackProblem};
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_remount, unmount};

use crate::images::{amd64, image, layer, pull};
use crate::registry::TestRegistry;

pub(crate) fn skip(test: &str, reason: &dyn std::fmt::Display) {
    let message = format!("SKIPPED {test}: {reason}\n");
    io::stderr().write_all(message.as_bytes()).unwrap();
}

/// A mounted tmpfs, which is unmounted at the end.
pub(crate) struct Disk {
    directory: tempfile::TempDir,
}

impl Disk {
    /// `None` if this process may not mount.
    pub(crate) fn mount(test: &str, flags: MountFlags, options: &std::ffi::CStr) -> Option<Disk> {
        let directory = tempfile::tempdir().unwrap();
        match mount("tmpfs", directory.path(), "tmpfs", flags, options) {
            Ok(()) => Some(Disk { directory }),
            Err(error) => {
                skip(test, &format!("cannot mount a tmpfs: {error}"));
                None
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = unmount(self.directory.path(), UnmountFlags::DETACH);
    }
}

fn open(path: &Path) -> Result<Store, OpenStoreError> {
    Store::open(path, StoreOptions::default())
}

#[test]
fn a_new_store_belongs_to_its_user_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a/b/store");
    let store = open(&path).unwrap();
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    store.check_executable().unwrap();
    open(&path).unwrap();
}

#[test]
fn a_store_that_others_can_write_to_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    for (mode, is_safe) in [(0o700, true), (0o755, true), (0o775, false), (0o702, false)] {
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(mode)).unwrap();
        match open(directory.path()) {
            Ok(_) => assert!(is_safe, "{mode:o}"),
            Err(error) => {
                assert!(matches!(error, OpenStoreError::Writable { .. }), "{error}");
                assert!(!is_safe, "{mode:o}");
            }
        }
    }
}

#[test]
fn a_store_of_another_user_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    if let Err(error) = chown(directory.path(), Some(12_345), None) {
        return skip("a_store_of_another_user_is_refused", &error);
    }
    let error = open(directory.path()).unwrap_err();
    assert!(
        matches!(error, OpenStoreError::Owner { owner: 12_345, .. }),
        "{error}"
    );
}

#[test]
fn a_file_is_not_a_store() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = open(file.path()).unwrap_err();
    assert!(matches!(error, OpenStoreError::Open { .. }), "{error}");
    let error = open(&file.path().join("store")).unwrap_err();
    assert!(matches!(error, OpenStoreError::Create { .. }), "{error}");
}

#[test]
fn a_store_without_exec_is_found_out() {
    let name = "a_store_without_exec_is_found_out";
    let Some(disk) = Disk::mount(name, MountFlags::NOEXEC, c"size=1m") else {
        return;
    };
    let store = open(&disk.path().join("store")).unwrap();
    let error = store.check_executable().unwrap_err();
    assert!(matches!(error, OpenStoreError::NoExec { .. }), "{error}");
}

#[test]
fn a_full_disk_leaves_nothing_half_visible() {
    let name = "a_full_disk_leaves_nothing_half_visible";
    let Some(disk) = Disk::mount(name, MountFlags::empty(), c"size=3m") else {
        return;
    };
    let store = open(&disk.path().join("store")).unwrap();
    let registry = TestRegistry::start();
    let client = registry.client();
    // The first one unpacks to more than there is space; the second one cannot be downloaded.
    let noise: Vec<u8> = (0..4_000_000_u32)
        .map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    for (tag, content) in [("v1", vec![0; 8_000_000]), ("v2", noise)] {
        let (layout, root) = image(vec![layer("data", &content)]);
        let tagged = format!("a/b:{tag}");
        registry.add(&tagged, &layout, &root);
        let reference = registry.reference(&tagged);
        let error = pull(&store, &client, &reference, PullPolicy::Always).unwrap_err();
        let is_full = match &*error {
            PullError::Store(error) => error.is_full(),
            PullError::Unpack { source, .. } => matches!(
                &source.source,
                UnpackProblem::Io(error) if error.kind() == io::ErrorKind::StorageFull
            ),
            _ => false,
        };
        assert!(is_full, "{error}");
        assert!(store.find(&reference, &amd64()).unwrap().is_none());
        assert!(store.list().unwrap().is_empty());
    }
    let collected = store.collect(&kiln_store::CollectLimits {
        size: 0,
        age: std::time::Duration::ZERO,
    });
    collected.unwrap();
    for partial in fs::read_dir(store.directory().join("partial")).unwrap() {
        fs::remove_file(partial.unwrap().path()).unwrap();
    }
    let (layout, root) = image(vec![layer("data", b"small")]);
    registry.add("a/b:v3", &layout, &root);
    let reference = registry.reference("a/b:v3");
    pull(&store, &client, &reference, PullPolicy::Always).unwrap();
    assert!(store.verify().unwrap().damages.is_empty());
}

#[test]
fn images_of_a_read_only_store_are_found() {
    let name = "images_of_a_read_only_store_are_found";
    let Some(disk) = Disk::mount(name, MountFlags::empty(), c"size=3m") else {
        return;
    };
    let path = disk.path().join("store");
    let store = open(&path).unwrap();
    let registry = TestRegistry::start();
    let (layout, root) = image(vec![layer("data", b"content")]);
    registry.add("a/b:v1", &layout, &root);
    registry.add("a/b:v2", &layout, &root);
    let reference = registry.reference("a/b:v1");
    pull(&store, &registry.client(), &reference, PullPolicy::Always).unwrap();
    mount_remount(disk.path(), MountFlags::RDONLY, c"").unwrap();
    let store = open(&path).unwrap();
    let found = store.find(&reference, &amd64()).unwrap().unwrap();
    assert_eq!(
        fs::read(found.root_path().join("data")).unwrap(),
        b"content"
    );
    assert!(store.verify().unwrap().damages.is_empty());
    pull(&store, &registry.client(), &reference, PullPolicy::Always).unwrap();
    let other = registry.reference("a/b:v2");
    let error = pull(&store, &registry.client(), &other, PullPolicy::Always).unwrap_err();
    let PullError::Store(StoreError::Io { source, .. }) = &*error else {
        panic!("{error}");
    };
    assert_eq!(source.kind(), io::ErrorKind::ReadOnlyFilesystem);
}
