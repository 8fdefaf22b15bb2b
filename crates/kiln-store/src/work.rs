//! Directories for work in progress, which become visible by renaming.
//!
//! Each one has a lock file beside it, which is locked before the directory is created. What a killed process leaves behind
//! has a free lock, and the next process removes it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::StoreError;
use crate::lock::{FileLock, LockMode};
use crate::references::entries;
use crate::remove_tree::remove_tree_at;
use crate::store::{Store, create_directory};

/// A directory that is removed when it is dropped.
#[derive(Debug)]
pub(crate) struct WorkDirectory {
    path: PathBuf,
    lock_path: PathBuf,
    _lock: FileLock,
}

static NEXT: AtomicU64 = AtomicU64::new(0);

const LOCK_SUFFIX: &str = "lock";

impl WorkDirectory {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for WorkDirectory {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next process.
        let _ = remove_tree_at(&self.path);
        let _ = std::fs::remove_file(&self.lock_path);
    }
}

impl Store {
    /// Creates an empty directory in the store's file system.
    pub(crate) fn work_directory(&self) -> Result<WorkDirectory, StoreError> {
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            // Another container that uses the store may have the same process ID.
            let name = format!("{}-{number}", std::process::id());
            let path = self.tmp_path().join(&name);
            let lock_path = path.with_extension(LOCK_SUFFIX);
            let lock = FileLock::try_acquire(&lock_path, LockMode::Exclusive)
                .map_err(StoreError::io("create", &lock_path))?;
            let Some(lock) = lock else {
                continue;
            };
            match create_directory(&path) {
                Ok(()) => {
                    return Ok(WorkDirectory {
                        path,
                        lock_path,
                        _lock: lock,
                    });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(StoreError::io("create", &path)(error)),
            }
        }
    }

    /// Removes what processes that were killed left behind.
    pub(crate) fn remove_abandoned_work(&self) -> Result<(), StoreError> {
        for path in entries(&self.tmp_path())? {
            let lock_path = path.with_extension(LOCK_SUFFIX);
            let Ok(Some(_lock)) = FileLock::try_acquire(&lock_path, LockMode::Exclusive) else {
                continue;
            };
            if path != lock_path {
                let _ = remove_tree_at(&path);
            }
            if !lock_path.with_extension("").exists() {
                let _ = std::fs::remove_file(&lock_path);
            }
        }
        Ok(())
    }
}
