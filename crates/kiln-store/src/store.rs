//! The directory of a store: opened, checked and completed.

use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kiln_oci::Digest;
use rustix::fs::{Mode, OFlags};

use crate::meta::UNPACK_VERSION;
use crate::pull::PendingPulls;
use crate::unpack::UnpackLimits;

/// A store of unpacked images. Clones share their state.
#[derive(Clone, Debug)]
pub struct Store {
    state: Arc<StoreState>,
}

#[derive(Debug)]
struct StoreState {
    directory: PathBuf,
    options: StoreOptions,
    pending_pulls: PendingPulls,
}

/// Settings of a store.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct StoreOptions {
    /// Limits for unpacking images.
    pub limits: UnpackLimits,
    pub durability: Durability,
}

/// What survives a power failure.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Durability {
    /// Files may be lost; [`Store::verify`] finds that.
    #[default]
    Cache,
    /// All files of an image are on the disk before the image is visible.
    Synced,
}

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenStoreError {
    #[error("cannot create the image store {}", path.display())]
    Create { path: PathBuf, source: io::Error },
    #[error("cannot open the image store {}", path.display())]
    Open { path: PathBuf, source: io::Error },
    /// Programs in the store could have been put there by that user.
    #[error("the image store {} belongs to user {owner}, not to user {user}", path.display())]
    Owner {
        path: PathBuf,
        owner: u32,
        user: u32,
    },
    #[error("other users can write to the image store {} (mode {mode:03o})", path.display())]
    Writable { path: PathBuf, mode: u32 },
    /// The kernel starts no programs from there.
    #[error("the image store {} is on a file system that is mounted with noexec", path.display())]
    NoExec { path: PathBuf },
}

/// The directories in a store.
const DIRECTORIES: [&str; 8] = [
    "blobs",
    "roots",
    "refs",
    "signatures",
    "verdicts",
    "locks",
    "partial",
    "tmp",
];

impl Store {
    /// Opens a store, and creates it if it does not exist. Refuses a directory of another user, or one that other users can
    /// write to.
    pub fn open(directory: &Path, options: StoreOptions) -> Result<Store, OpenStoreError> {
        let path = || directory.to_owned();
        let create_error = |source| OpenStoreError::Create {
            path: path(),
            source,
        };
        if let Err(error) = create_directory(directory)
            && error.kind() != io::ErrorKind::AlreadyExists
        {
            return Err(create_error(error));
        }
        check_access(directory)?;
        for name in DIRECTORIES {
            match create_directory(&directory.join(name)) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                // What is missing in a store that cannot be written to is empty.
                Err(error) if error.kind() == io::ErrorKind::ReadOnlyFilesystem => {}
                Err(error) => return Err(create_error(error)),
            }
        }
        let directory = std::path::absolute(directory).map_err(create_error)?;
        Ok(Store {
            state: Arc::new(StoreState {
                directory,
                options,
                pending_pulls: PendingPulls::default(),
            }),
        })
    }

    /// The directory of the store, as an absolute path.
    pub fn directory(&self) -> &Path {
        &self.state.directory
    }

    /// Fails if the kernel starts no programs from the store.
    pub fn check_executable(&self) -> Result<(), OpenStoreError> {
        let path = || self.directory().to_owned();
        let stat = rustix::fs::statvfs(self.directory()).map_err(|error| OpenStoreError::Open {
            path: path(),
            source: error.into(),
        })?;
        if is_noexec(&stat) {
            return Err(OpenStoreError::NoExec { path: path() });
        }
        Ok(())
    }

    pub(crate) fn options(&self) -> &StoreOptions {
        &self.state.options
    }

    pub(crate) fn pending_pulls(&self) -> &PendingPulls {
        &self.state.pending_pulls
    }

    /// The lock of everything that no image refers to.
    pub(crate) fn lock_path(&self) -> PathBuf {
        self.directory().join("lock")
    }

    pub(crate) fn roots_path(&self) -> PathBuf {
        self.directory().join("roots")
    }

    pub(crate) fn refs_path(&self) -> PathBuf {
        self.directory().join("refs")
    }

    pub(crate) fn signatures_path(&self) -> PathBuf {
        self.directory().join("signatures")
    }

    pub(crate) fn verdicts_path(&self) -> PathBuf {
        self.directory().join("verdicts")
    }

    pub(crate) fn blobs_path(&self) -> PathBuf {
        self.directory().join("blobs")
    }

    pub(crate) fn partial_path(&self) -> PathBuf {
        self.directory().join("partial")
    }

    pub(crate) fn tmp_path(&self) -> PathBuf {
        self.directory().join("tmp")
    }

    pub(crate) fn locks_path(&self) -> PathBuf {
        self.directory().join("locks")
    }

    /// The directory of an image.
    pub(crate) fn image_directory(&self, manifest_digest: &Digest) -> PathBuf {
        self.roots_path()
            .join(image_directory_name(manifest_digest))
    }
}

/// The name of the directory of an image: of its manifest and of the rules by which it was unpacked.
pub(crate) fn image_directory_name(manifest_digest: &Digest) -> String {
    format!("{}.{UNPACK_VERSION}", file_name(manifest_digest))
}

/// The manifest digest that the directory of an image is named after. `None` if it was unpacked by other rules.
pub(crate) fn parse_image_directory_name(name: &str) -> Option<Digest> {
    let (digest, version) = name.rsplit_once('.')?;
    let is_current = version.parse() == Ok(UNPACK_VERSION);
    let digest = digest.replacen('-', ":", 1).parse().ok()?;
    is_current.then_some(digest)
}

/// A digest as the name of a file.
pub(crate) fn file_name(digest: &Digest) -> String {
    format!("{}-{}", digest.algorithm(), digest.hex())
}

/// Creates a directory that only this user can use, and its parents.
pub(crate) fn create_directory(path: &Path) -> io::Result<()> {
    let made = rustix::fs::mkdir(path, Mode::RWXU);
    match (made, path.parent()) {
        (Err(rustix::io::Errno::NOENT), Some(parent)) => {
            std::fs::create_dir_all(parent)?;
            Ok(rustix::fs::mkdir(path, Mode::RWXU)?)
        }
        (made, _) => Ok(made?),
    }
}

/// Checks owner and mode of a store.
pub(crate) fn check_access(directory: &Path) -> Result<(), OpenStoreError> {
    let path = || directory.to_owned();
    let open_error = |error: rustix::io::Errno| OpenStoreError::Open {
        path: path(),
        source: error.into(),
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fd = rustix::fs::open(directory, flags, Mode::empty()).map_err(open_error)?;
    let stat = rustix::fs::fstat(fd.as_fd()).map_err(open_error)?;
    let user = rustix::process::geteuid().as_raw();
    if stat.st_uid != user {
        return Err(OpenStoreError::Owner {
            path: path(),
            owner: stat.st_uid,
            user,
        });
    }
    let mode = Mode::from_raw_mode(stat.st_mode);
    if mode.intersects(Mode::WGRP | Mode::WOTH) {
        return Err(OpenStoreError::Writable {
            path: path(),
            mode: mode.bits() & 0o777,
        });
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn is_noexec(stat: &rustix::fs::StatVfs) -> bool {
    stat.f_flag.contains(rustix::fs::StatVfsMountFlags::NOEXEC)
}

#[cfg(not(target_os = "linux"))]
fn is_noexec(_: &rustix::fs::StatVfs) -> bool {
    false
}
