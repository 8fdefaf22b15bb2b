//! Errors of the files of a store.

use std::io;
use std::path::{Path, PathBuf};

use kiln_oci::Digest;

/// Why an operation on a store failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("cannot {action} {}", path.display())]
    Io {
        /// For example "read".
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// A file of the store has invalid content.
    #[error("{} is damaged", path.display())]
    Damaged {
        path: PathBuf,
        source: serde_json::Error,
    },
    #[error("the store has no image {0}")]
    NotFound(String),
    /// Another process uses the image.
    #[error("the image {0} is in use")]
    InUse(Digest),
}

impl StoreError {
    /// An error of the system about a path.
    pub(crate) fn io(
        action: &'static str,
        path: &Path,
    ) -> impl FnOnce(io::Error) -> StoreError + use<> {
        let path = path.to_owned();
        move |source| StoreError::Io {
            action,
            path,
            source,
        }
    }

    /// Whether there is no space left for files.
    pub fn is_full(&self) -> bool {
        matches!(self, StoreError::Io { source, .. } if is_full(source))
    }
}

/// Whether a write failed because the disk is full or the user's quota is used up.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}
