//! Where the files of a package come from: the one trait between this crate and disks, archives or tests.
//!
//! Paths are relative to the package's directory, separated by slashes, without `.` or `..`; the directory itself
//! is the empty path. A source never leaves its directory.

use std::collections::{BTreeMap, BTreeSet};

/// A directory tree that packages are read from.
pub trait FileSource: Sync {
    /// The entries of a directory, in any order.
    fn list(&self, dir: &str) -> Result<Vec<Entry>, FileError>;

    /// The bytes of a file; of the target, if `path` is a symbolic link to a file.
    fn read(&self, path: &str) -> Result<Vec<u8>, FileError>;
}

/// A directory's entry.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Entry {
    /// The last component of the entry's path.
    pub name: String,
    pub kind: EntryKind,
}

/// The type of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum EntryKind {
    File,
    Directory,
    /// A symbolic link whose target is a regular file.
    SymlinkToFile,
    /// A symbolic link whose target is a directory. Never followed.
    SymlinkToDirectory,
    /// Anything else: sockets, devices, links to nothing or to outside the tree.
    Other,
}

/// Why a file or directory could not be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FileError {
    /// The path does not exist.
    #[error("{0}: no such file or directory")]
    NotFound(String),
    /// The path is a directory, not a file.
    #[error("read {0}: is a directory")]
    IsDirectory(String),
    /// The source failed otherwise.
    #[error("{path}: {reason}")]
    Failed {
        path: String,
        /// The reason, in the words of the operating system.
        reason: String,
    },
}

impl FileError {
    /// The path, and the reason in the words of the operating system.
    pub fn parts(&self) -> (&str, &str) {
        match self {
            FileError::NotFound(path) => (path, "no such file or directory"),
            FileError::IsDirectory(path) => (path, "is a directory"),
            FileError::Failed { path, reason } => (path, reason),
        }
    }
}

/// A directory tree in memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryFiles {
    files: BTreeMap<String, Vec<u8>>,
}

impl MemoryFiles {
    /// A tree without files.
    pub fn new() -> MemoryFiles {
        MemoryFiles::default()
    }

    /// Adds a file or replaces its content. Its directories exist because it does.
    pub fn insert(&mut self, path: impl Into<String>, content: impl Into<Vec<u8>>) {
        self.files.insert(path.into(), content.into());
    }

    /// Removes a file and returns its content if it existed.
    pub fn remove(&mut self, path: &str) -> Option<Vec<u8>> {
        self.files.remove(path)
    }

    /// A file's content.
    pub fn get(&self, path: &str) -> Option<&[u8]> {
        self.files.get(path).map(Vec::as_slice)
    }

    /// All files by path.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files
            .iter()
            .map(|(path, content)| (path.as_str(), content.as_slice()))
    }
}

impl<P: Into<String>, C: Into<Vec<u8>>> FromIterator<(P, C)> for MemoryFiles {
    fn from_iter<I: IntoIterator<Item = (P, C)>>(files: I) -> MemoryFiles {
        let files = files
            .into_iter()
            .map(|(path, content)| (path.into(), content.into()));
        MemoryFiles {
            files: files.collect(),
        }
    }
}

impl FileSource for MemoryFiles {
    fn list(&self, dir: &str) -> Result<Vec<Entry>, FileError> {
        let prefix = if dir.is_empty() {
            String::new()
        } else {
            format!("{dir}/")
        };
        let mut directories = BTreeSet::new();
        let mut entries = Vec::new();
        for path in self.files.range(prefix.clone()..).map(|(path, _)| path) {
            let Some(rest) = path.strip_prefix(&prefix) else {
                break;
            };
            match rest.split_once('/') {
                Some((name, _)) if directories.insert(name) => entries.push(Entry {
                    name: name.to_owned(),
                    kind: EntryKind::Directory,
                }),
                Some(_) => {}
                None => entries.push(Entry {
                    name: rest.to_owned(),
                    kind: EntryKind::File,
                }),
            }
        }
        if entries.is_empty() && !dir.is_empty() {
            return Err(FileError::NotFound(dir.to_owned()));
        }
        Ok(entries)
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, FileError> {
        match self.files.get(path) {
            Some(content) => Ok(content.clone()),
            None => Err(FileError::NotFound(path.to_owned())),
        }
    }
}
