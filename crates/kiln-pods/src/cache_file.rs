//! The file of settings per image, which may change, and may come only after the start.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use kiln_runtime::{FileValue, Refresh};

use crate::cache_config::{self, CacheEntry};

/// The file, and what it said last.
pub(crate) struct CacheFile {
    path: PathBuf,
    value: Mutex<Option<Arc<FileValue<Vec<CacheEntry>>>>>,
    /// What was said last about a file that came and is none.
    said: Mutex<Option<String>>,
}

impl CacheFile {
    /// Reads the file, if it is there.
    pub(crate) fn load(path: &Path) -> Result<CacheFile, String> {
        let value = match is_missing(path) {
            true => {
                tracing::warn!(
                    "no pod cache config at {}: nothing is set for single images until there is one",
                    path.display()
                );
                None
            }
            false => Some(Arc::new(read(path)?)),
        };
        Ok(CacheFile {
            path: path.to_owned(),
            value: Mutex::new(value),
            said: Mutex::default(),
        })
    }

    /// What it says; nothing if it is not there.
    pub(crate) fn entries(&self) -> Vec<CacheEntry> {
        self.value()
            .map_or_else(Vec::new, |value| value.get().to_vec())
    }

    /// Looks at the file again; what it says now if that is news. Blocks as long as files do.
    pub(crate) fn refresh(&self) -> Option<Vec<CacheEntry>> {
        let path = self.path.display();
        let Some(value) = self.value() else {
            return self.appear();
        };
        match value.refresh() {
            Refresh::Unchanged => None,
            Refresh::Changed => {
                tracing::info!("{path} has changed and was read again");
                Some(value.get().to_vec())
            }
            Refresh::Failed(reason) => {
                tracing::error!(
                    "{path} has changed and cannot be used, the old one stays in force: {reason}"
                );
                None
            }
        }
    }

    /// Looks whether a file has come that was not there.
    fn appear(&self) -> Option<Vec<CacheEntry>> {
        if is_missing(&self.path) {
            return None;
        }
        let path = self.path.display();
        match read(&self.path) {
            Ok(value) => {
                tracing::info!("{path} is there now and was read");
                let entries = value.get().to_vec();
                *lock(&self.value) = Some(Arc::new(value));
                Some(entries)
            }
            Err(reason) => {
                let mut said = lock(&self.said);
                if said.as_ref() != Some(&reason) {
                    tracing::error!("{path} is there now and cannot be used: {reason}");
                    *said = Some(reason);
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
    fn a_file_may_come_change_and_be_wrong() {
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
        // To begin with, what is wrong is an error.
        assert!(CacheFile::load(&path).is_err());
    }
}
