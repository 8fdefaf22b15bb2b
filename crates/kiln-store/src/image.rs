//! An unpacked image in use.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use kiln_oci::Digest;
use rustix::fs::{Mode, OFlags};

use crate::error::StoreError;
use crate::in_root;
use crate::lock::{FileLock, LockMode};
use crate::meta::{ImageMeta, UNPACK_VERSION};
use crate::store::Store;

/// How often the time of the last use is updated.
const USE_RESOLUTION: Duration = Duration::from_secs(3600);

/// A guard of an unpacked image: while it or a clone exists, no process removes the image.
#[derive(Clone, Debug)]
pub struct StoredImage {
    state: Arc<StoredImageState>,
}

#[derive(Debug)]
struct StoredImageState {
    store: Store,
    root_path: PathBuf,
    root: OwnedFd,
    meta: ImageMeta,
    _use_lock: FileLock,
}

/// The names in the directory of an image.
pub(crate) mod names {
    pub(crate) const ROOT: &str = "root";
    pub(crate) const META: &str = "meta.json";
    pub(crate) const RECORD: &str = "files";
    pub(crate) const USE: &str = ".use";
}

impl StoredImage {
    /// The root directory of the image, opened with `O_PATH`.
    pub fn root(&self) -> BorrowedFd<'_> {
        self.state.root.as_fd()
    }

    /// The path of the root directory of the image.
    pub fn root_path(&self) -> &Path {
        &self.state.root_path
    }

    /// The path of a file inside the image without links, relative to its root. Links of the image are followed inside it.
    pub fn resolve_file(&self, path: &str) -> io::Result<PathBuf> {
        in_root::resolve_file(self.root(), path.as_bytes())
    }

    pub fn meta(&self) -> &ImageMeta {
        &self.state.meta
    }

    /// Opens a layer of an artifact.
    pub fn open_layer(&self, digest: &Digest) -> Result<File, StoreError> {
        self.state.store.open_blob(digest)
    }

    /// Opens an image of a store. `None` if the store does not have it completely.
    pub(crate) fn open(
        store: &Store,
        manifest_digest: &Digest,
    ) -> Result<Option<StoredImage>, StoreError> {
        let directory = store.image_directory(manifest_digest);
        let use_path = directory.join(names::USE);
        let use_lock = match FileLock::acquire_existing(&use_path, LockMode::Shared) {
            Ok(lock) => lock,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StoreError::io("lock", &use_path)(error)),
        };
        let meta = match read_meta(&directory) {
            // It is incomplete.
            Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                return Ok(None);
            }
            meta => meta?,
        };
        if meta.unpack_version != UNPACK_VERSION || meta.manifest_digest != *manifest_digest {
            return Ok(None);
        }
        let root_path = directory.join(names::ROOT);
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let root = rustix::fs::open(&root_path, flags, Mode::empty())
            .map_err(|error| StoreError::io("open", &root_path)(error.into()))?;
        note_use(use_lock.file());
        Ok(Some(StoredImage {
            state: Arc::new(StoredImageState {
                store: store.clone(),
                root_path,
                root,
                meta,
                _use_lock: use_lock,
            }),
        }))
    }
}

/// Reads `meta.json` in the directory of an image.
pub(crate) fn read_meta(directory: &Path) -> Result<ImageMeta, StoreError> {
    let path = directory.join(names::META);
    let bytes = std::fs::read(&path).map_err(StoreError::io("read", &path))?;
    serde_json::from_slice(&bytes).map_err(|source| StoreError::Damaged { path, source })
}

/// Updates the time of the last use. A store that cannot be written to keeps the old time.
fn note_use(use_file: &File) {
    let modified = use_file.metadata().and_then(|metadata| metadata.modified());
    let age = modified.map(|modified| modified.elapsed().unwrap_or(Duration::MAX));
    if age.is_ok_and(|age| age > USE_RESOLUTION) {
        let _ = use_file.set_modified(SystemTime::now());
    }
}
