//! Blobs by digest: manifests, configs and packed layers.
//!
//! A blob that has its name was complete and had the digest of its name. A crash of the system may have damaged it since:
//! layers are used only if they have their size, and small blobs are compared when they are added again.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use kiln_oci::{Descriptor, Digest, StoredManifest};

use crate::error::StoreError;
use crate::list::remove_file;
use crate::record::hash_all;
use crate::store::{Store, create_directory};
use crate::work::WorkDirectory;

/// The largest manifest that is read.
const MAX_MANIFEST: u64 = 4 << 20;

impl Store {
    pub(crate) fn blob_path(&self, digest: &Digest) -> PathBuf {
        let directory = self.blobs_path().join(digest.algorithm());
        directory.join(digest.hex())
    }

    /// Whether the store has a blob of that size.
    pub(crate) fn has_blob(&self, blob: &Descriptor) -> bool {
        let found = std::fs::metadata(self.blob_path(&blob.digest));
        found.is_ok_and(|found| found.len() == blob.size)
    }

    /// Whether the store has a small blob with this content.
    pub(crate) fn has_content(&self, digest: &Digest, bytes: &[u8]) -> bool {
        let found = self.blob(digest, bytes.len() as u64);
        found.is_ok_and(|found| found.is_some())
    }

    pub(crate) fn open_blob(&self, digest: &Digest) -> Result<File, StoreError> {
        let path = self.blob_path(digest);
        match File::open(&path) {
            Ok(file) => Ok(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(StoreError::NotFound(digest.to_string()))
            }
            Err(error) => Err(StoreError::io("open", &path)(error)),
        }
    }

    /// Reads a small blob. `None` if the store does not have it, or not with its digest.
    pub(crate) fn read_blob(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        self.blob(digest, MAX_MANIFEST)
    }

    /// Reads a blob of at most `limit` bytes. `None` if the store does not have it, or not with its digest.
    pub fn blob(&self, digest: &Digest, limit: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let mut bytes = Vec::new();
        let file = match self.open_blob(digest) {
            Ok(file) => file,
            Err(StoreError::NotFound(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        file.take(limit.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(StoreError::io("read", &self.blob_path(digest)))?;
        Ok(digest.matches(&bytes).then_some(bytes))
    }

    /// Reads a manifest or index. `None` if the store does not have it.
    pub fn manifest(&self, digest: &Digest) -> Result<Option<StoredManifest>, StoreError> {
        let Some(bytes) = self.read_blob(digest)? else {
            return Ok(None);
        };
        let stored = StoredManifest::parse(bytes.into(), None);
        Ok(stored.ok().map(|mut stored| {
            stored.descriptor.digest = digest.clone();
            stored
        }))
    }

    /// Adds a small blob, or replaces one that is damaged.
    pub(crate) fn write_blob(
        &self,
        work: &WorkDirectory,
        digest: &Digest,
        bytes: &[u8],
    ) -> Result<(), StoreError> {
        if self.has_content(digest, bytes) {
            return Ok(());
        }
        let path = work.path().join("blob");
        std::fs::write(&path, bytes).map_err(StoreError::io("write", &path))?;
        self.adopt_blob(&path, digest)
    }

    /// Removes those of the blobs that do not have their digest. Returns whether there were any.
    pub(crate) fn remove_damaged_blobs(&self, digests: &[Digest]) -> Result<bool, StoreError> {
        let mut removed = false;
        for digest in digests {
            let path = self.blob_path(digest);
            let blob = match self.open_blob(digest) {
                Err(StoreError::NotFound(_)) => continue,
                blob => blob?,
            };
            let hashed = hash_all(blob, digest.hasher()).map_err(StoreError::io("read", &path))?;
            if hashed.finish() != *digest {
                remove_file(&path)?;
                removed = true;
            }
        }
        Ok(removed)
    }

    /// Gives a complete and checked file its name as a blob, in place of one that may be damaged.
    pub(crate) fn adopt_blob(&self, from: &Path, digest: &Digest) -> Result<(), StoreError> {
        let path = self.blob_path(digest);
        let renamed = match std::fs::rename(from, &path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let directory = self.blobs_path().join(digest.algorithm());
                match create_directory(&directory) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
                    _ => std::fs::rename(from, &path),
                }
            }
            renamed => renamed,
        };
        renamed.map_err(StoreError::io("write", &path))
    }
}
