//! Answers of functions, by a hash of everything that they depend on.
//!
//! | path | content |
//! |---|---|
//! | `results/AA/HEX` | one answer, by its key; `entry` has the form |
//! | `results/render/HEX` | what a render of an unchanged package reports, in the same form |
//! | `results/impure/HEX` | a function that gave two answers to one input, by the hash of its identity |
//! | `results/lock` | locked while old entries are removed |
//! | `results/trimmed` | its time is that of the last removal |
//!
//! An entry is read whole and checked; one that is damaged, or that another user could have written, is removed and is a
//! miss. Entries are written under temporary names and renamed, so that a reader finds a whole entry or none. Nothing is synced: a torn
//! file does not have its hash.
//!
//! Deliberately absent: what an answer means, and whether it may be kept.

mod directory;
mod entry;
mod impure;
mod key;
mod trim;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

use directory::PrivateDirectory;
use entry::ResultEntry;
pub use key::{KeyHasher, ResultKey};
pub use trim::ResultLimits;

use crate::store::{OpenStoreError, check_access, create_directory};

/// The largest entry, in bytes.
const MAX_ENTRY: u64 = 64 << 20;

/// Answers of functions on disk. Any number of processes and threads can use them.
#[derive(Debug)]
pub struct ResultCache {
    path: PathBuf,
    directory: PrivateDirectory,
    limits: ResultLimits,
    /// What this process wrote since it last removed old entries.
    written: WrittenCount,
}

#[derive(Debug, Default)]
struct WrittenCount {
    bytes: AtomicU64,
    entries: AtomicU64,
}

/// Which kind of answer an entry has. Kinds never answer for each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResultKind {
    /// The answer of a function.
    Answer,
    /// The report of a render.
    Render,
}

/// Why answers cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum OpenResultsError {
    #[error(transparent)]
    Store(#[from] OpenStoreError),
    #[error("cannot use {}", path.display())]
    Io { path: PathBuf, source: io::Error },
    /// Another user could have written what is in there, or read it.
    #[error("{} is not used: {problem}", path.display())]
    NotPrivate {
        path: PathBuf,
        problem: &'static str,
    },
}

impl ResultCache {
    /// Opens the answers in the directory of a store. Both are created if they do not exist, and refused if another user
    /// could have written to them.
    pub fn open(store: &Path, limits: ResultLimits) -> Result<ResultCache, OpenResultsError> {
        let create = |path: &Path| match create_directory(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(OpenResultsError::Io {
                    path: path.to_owned(),
                    source: error,
                })
            }
            _ => Ok(()),
        };
        create(store)?;
        check_access(store)?;
        let path = ResultCache::path(store);
        create(&path)?;
        let directory = PrivateDirectory::open(&path)?;
        Ok(ResultCache {
            path,
            directory,
            limits,
            written: WrittenCount::default(),
        })
    }

    /// The directory of the answers in a store.
    pub fn path(store: &Path) -> PathBuf {
        store.join("results")
    }

    /// The answer of a function, if it is there. Any problem is a miss.
    pub fn read(&self, kind: ResultKind, key: &ResultKey, identity: &str) -> Option<Vec<u8>> {
        let (directory, name) = self.place(kind, key);
        let directory = self.directory.existing(&directory)?;
        let bytes = match directory.read(&name, MAX_ENTRY) {
            Ok(bytes) => bytes?,
            Err(_) => {
                directory.remove(&name);
                return None;
            }
        };
        let payload = ResultEntry::parse(&bytes).and_then(|entry| entry.payload_of(key, identity));
        match payload {
            Some(payload) => {
                directory.note_use(&name);
                Some(payload.to_vec())
            }
            None => {
                directory.remove(&name);
                None
            }
        }
    }

    /// Keeps an answer. One that is too large is not kept.
    pub fn write(
        &self,
        kind: ResultKind,
        key: &ResultKey,
        identity: &str,
        payload: &[u8],
    ) -> io::Result<()> {
        let entry = ResultEntry {
            key,
            identity,
            payload,
        };
        let bytes = entry.to_bytes();
        if bytes.len() as u64 > MAX_ENTRY {
            return Ok(());
        }
        let (directory, name) = self.place(kind, key);
        self.directory.made(&directory)?.write(&name, &bytes)?;
        self.trim_after(bytes.len() as u64);
        Ok(())
    }

    /// Removes an answer.
    pub fn remove(&self, kind: ResultKind, key: &ResultKey) {
        let (directory, name) = self.place(kind, key);
        if let Some(directory) = self.directory.existing(&directory) {
            directory.remove(&name);
        }
    }

    fn place(&self, kind: ResultKind, key: &ResultKey) -> (String, String) {
        let hex = key.hex();
        let directory = match kind {
            ResultKind::Answer => hex.get(..2).unwrap_or_default(),
            ResultKind::Render => trim::RENDER,
        };
        (directory.to_owned(), hex.to_owned())
    }
}
