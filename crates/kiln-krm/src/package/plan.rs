//! What writing resources back would change: a list of files, nothing written yet.
//!
//! By default bytes are kept: a file whose documents are as they were is not in the plan, and in a file that changes
//! only the documents that did are encoded anew. The original tools encode everything, every time.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use kiln_go::NumberError;

use super::keep::keep_bytes;
use super::place::{Placed, place, sort};
use super::read::ReadSet;
use crate::dialect::Dialect;
use crate::parallel::{Worth, try_map};
use crate::resource::Resource;
use crate::write::{EncodeError, write_documents};

/// How resources are written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WriteOptions {
    /// Whose rules.
    pub dialect: Dialect,
    /// What happens to bytes that could stay.
    pub bytes: Bytes,
    /// What happens to files that have no resources any more.
    pub emptied_files: EmptiedFiles,
    /// The package's directory, for messages.
    pub package: String,
    /// How many threads may work on it.
    pub threads: NonZeroUsize,
}

/// With kpt's rules of today, on one thread, in a package without a name.
impl Default for WriteOptions {
    fn default() -> WriteOptions {
        WriteOptions {
            dialect: Dialect::default(),
            bytes: Bytes::default(),
            emptied_files: EmptiedFiles::default(),
            package: String::new(),
            threads: NonZeroUsize::MIN,
        }
    }
}

/// What happens to bytes that could stay as they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Bytes {
    /// A document nothing changed keeps its bytes.
    #[default]
    Keep,
    /// Every document is encoded anew.
    Reencode,
}

/// What happens to a file that resources were read from and none is written to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum EmptiedFiles {
    /// It is deleted.
    #[default]
    Delete,
    /// It stays, as after a failure.
    Leave,
}

/// A change of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileChange {
    /// The path: relative, cleaned, inside of the package.
    pub path: String,
    /// What happens to the file.
    pub action: FileAction,
}

/// What happens to a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FileAction {
    /// It gets this content.
    Write(Vec<u8>),
    /// It goes.
    Delete,
}

/// Why resources cannot be written.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WriteError {
    /// A resource says nothing about itself.
    #[error("missing Resource metadata")]
    MissingMetadata,
    /// A resource's path or index is given and empty.
    #[error("resources must be annotated with {0} to be written to files")]
    MissingAnnotation(&'static str),
    /// A path begins with a slash.
    #[error("package paths may not be absolute paths")]
    AbsolutePath,
    /// A path has two dots in a row, which nobody needs who stays inside.
    #[error("resource must be written under package {package}: {path}")]
    Outside {
        /// The package's directory.
        package: String,
        /// The cleaned path.
        path: String,
    },
    /// A path is that of a directory.
    #[error("config.kubernetes.io/path cannot be a directory: {0}")]
    Directory(String),
    /// A path that ends where the operating system stops reading.
    #[error("a file's path cannot have a NUL in it: {0}")]
    NulInPath(String),
    /// A path or a name in it that no file system takes.
    #[error("path too long (255 bytes a name, 4096 in all): {0}")]
    PathTooLong(String),
    /// An index that is no number.
    #[error("unable to parse config.kubernetes.io/index {index} :{reason}")]
    Index {
        /// The annotation's value.
        index: String,
        /// Go's message.
        reason: NumberError,
    },
    /// A resource cannot be encoded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
}

/// What must change for the package to hold these resources, by path.
pub fn plan_write(
    resources: Vec<Resource>,
    before: &ReadSet,
    options: &WriteOptions,
) -> Result<Vec<FileChange>, WriteError> {
    let files = by_file(resources, options)?;
    let mut changes = Vec::new();
    if options.emptied_files == EmptiedFiles::Delete {
        let emptied = before.paths().filter(|path| !files.contains_key(*path));
        changes.extend(emptied.map(|path| FileChange {
            path: path.to_owned(),
            action: FileAction::Delete,
        }));
    }
    for (path, content) in contents(files, before, options)? {
        let is_new =
            |content: &Vec<u8>| before.get(&path).is_none_or(|file| file.bytes() != content);
        changes.extend(content.filter(is_new).map(|content| FileChange {
            path: path.clone(),
            action: FileAction::Write(content),
        }));
    }
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(changes)
}

/// The files that a new directory gets to hold these resources, by path. `before` is what the resources were read from:
/// files and documents that nothing changed are copied.
pub fn plan_copy(
    resources: Vec<Resource>,
    before: &ReadSet,
    options: &WriteOptions,
) -> Result<Vec<FileChange>, WriteError> {
    let files = by_file(resources, options)?;
    let contents = contents(files, before, options)?.into_iter();
    let unchanged = |path: &str| before.get(path).map(|file| file.bytes().to_vec());
    let changes = contents.map(|(path, content)| FileChange {
        action: FileAction::Write(content.or_else(|| unchanged(&path)).unwrap_or_default()),
        path,
    });
    Ok(changes.collect())
}

/// The resources of each file, in order.
fn by_file(
    resources: Vec<Resource>,
    options: &WriteOptions,
) -> Result<BTreeMap<String, Vec<Placed>>, WriteError> {
    let mut files: BTreeMap<String, Vec<Placed>> = BTreeMap::new();
    for placed in place(resources, &options.package, options.dialect)? {
        files.entry(placed.path.clone()).or_default().push(placed);
    }
    for placed in files.values_mut() {
        sort(placed)?;
    }
    check_directories(&files)?;
    Ok(files)
}

/// The path of a file and its bytes; none if it keeps those it has.
type WrittenFile = (String, Option<Vec<u8>>);

/// The content of each file; none if it is as it was.
fn contents(
    files: BTreeMap<String, Vec<Placed>>,
    before: &ReadSet,
    options: &WriteOptions,
) -> Result<Vec<WrittenFile>, WriteError> {
    let files: Vec<(String, Vec<Placed>)> = files.into_iter().collect();
    try_map(files, options.threads, Worth::Files, |(path, placed)| {
        let content = match options.bytes {
            Bytes::Keep => keep_bytes(placed, &path, before, options.dialect)?,
            Bytes::Reencode => {
                let resources = placed.into_iter().map(|placed| placed.resource).collect();
                Some(write_documents(resources, options.dialect)?.into_bytes())
            }
        };
        Ok((path, content))
    })
}

/// No file can be the package itself or a directory on the way to another one.
fn check_directories(files: &BTreeMap<String, Vec<Placed>>) -> Result<(), WriteError> {
    for path in files.keys() {
        if path == "." {
            return Err(WriteError::Directory(path.clone()));
        }
        for (slash, _) in path.match_indices('/') {
            if let Some(parent) = path.get(..slash)
                && files.contains_key(parent)
            {
                return Err(WriteError::Directory(parent.to_owned()));
            }
        }
    }
    Ok(())
}
