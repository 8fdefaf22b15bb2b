//! The pod cache config file, which may change or appear later.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use kiln_runtime::{FileValue, Refresh};

use crate::config::cache_config::{self, CacheEntry};

/// The file and its last valid content.
pub(crate) struct CacheFile {
    path: PathBuf,
    value: Mutex<Option<Arc<FileValue<Vec<CacheEntry>>>>>,
    /// The last logged error about a file that appeared later.
    logged_error: Mutex<Option<String>>,
}

impl CacheFile {
    /// Reads the file if it exists.
    pub(crate) fn load(path: &Path) -> Result<CacheFile, String> {
        let value = match is_missing(path) {
            true => {
                tracing::warn!(
                    "pod cache config {} does not exist; the flags apply to all images until it does",
                    path.display()
                );
                None
            }
            false => Some(Arc::new(read(path)?)),
        };
        Ok(CacheFile {
            path: path.to_owned(),
            value: Mutex::new(value),
            logged_error: Mutex::default(),
        })
    }

    /// The entries; empty if the file does not exist.
    pub(crate) fn entries(&self) -> Vec<CacheEntry> {
        self.value()
            .map_or_else(Vec::new, |value| value.get().to_vec())
    }

    /// Reads the file again if it has changed, and returns the new entries. Blocking.
    pub(crate) fn refresh(&self) -> Option<Vec<CacheEntry>> {
        let path = self.path.display();
        let Some(value) = self.value() else {
            return self.load_if_created();
        };
        match value.refresh() {
            Refresh::Unchanged => None,
            Refresh::Changed => {
                tracing::info!("{path} has changed and was reloaded");
                Some(value.get().to_vec())
            }
            Refresh::Failed(reason) => {
                tracing::error!(
                    "{path} has changed but is invalid, the previous version stays in force: {reason}"
                );
                None
            }
        }
    }

    /// Reads the file if it exists now.
    fn load_if_created(&self) -> Option<Vec<CacheEntry>> {
        if is_missing(&self.path) {
            return None;
        }
        let path = self.path.display();
        match read(&self.path) {
            Ok(value) => {
                tracing::info!("{path} has appeared and was loaded");
                let entries = value.get().to_vec();
                *lock(&self.value) = Some(Arc::new(value));
                Some(entries)
            }
            Err(reason) => {
                let mut logged_error = lock(&self.logged_error);
                if logged_error.as_ref() != Some(&reason) {
                    tracing::error!("{path} has appeared but is invalid: {reason}");
                    *logged_error = Some(reason);
                }
                None
            }
        }
    }

    fn value(&self) -> Option<Arc<FileValue<Vec<CacheEntry>>>> {
        lock(&self.value).clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_missing(path: &Path) -> bool {
    std::fs::metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

fn read(path: &Path) -> Result<FileValue<Vec<CacheEntry>>, String> {
    let make = |contents: &[Vec<u8>]| {
        let bytes = contents.first().map(Vec::as_slice).unwrap_or_default();
        let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
        cache_config::parse(text)
    };
    let value = FileValue::load(vec![path.to_owned()], make);
    value.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_may_appear_change_and_become_invalid() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("later/cache.yaml");
        let file = CacheFile::load(&path).unwrap();
        assert_eq!(file.entries(), []);
        assert_eq!(file.refresh(), None);
        std::fs::create_dir(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "- nothing: here\n").unwrap();
        assert_eq!(file.refresh(), None);
        std::fs::write(&path, "- name: a/b:v1\n  timeToLive: 1m\n").unwrap();
        let entries = file.refresh().unwrap();
        assert_eq!(entries.len(), 1);
        assert_eq!(file.entries(), entries);
        std::fs::write(&path, "- name: a/b:v1\n- name: c:v1\n").unwrap();
        assert_eq!(file.refresh().unwrap().len(), 2);
        std::fs::write(&path, "wrong").unwrap();
        assert_eq!(file.refresh(), None);
        assert_eq!(file.entries().len(), 2);
        // At the start an invalid file is an error.
        assert!(CacheFile::load(&path).is_err());
    }
}
