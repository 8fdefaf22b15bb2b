//! Planning a write: the list of files that would change.
//!
//! By default bytes are kept: a file with unchanged documents is not in the plan, and in a changed file
//! only the changed documents are encoded again. The original tools always encode everything.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use kiln_go::NumberError;

use super::assign_files::{FileResource, assign_files, sort};
use super::files::FileSource;
use super::keep::keep_bytes;
use super::read::ReadSet;
use crate::dialect::Dialect;
use crate::parallel::{Worth, try_map};
use crate::resource::Resource;
use crate::write::{EncodeError, write_documents};

/// How resources are written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WriteOptions {
    /// The version of the rules.
    pub dialect: Dialect,
    /// What happens to unchanged bytes.
    pub bytes: Bytes,
    /// What happens to files without any resources left.
    pub emptied_files: EmptiedFiles,
    /// The package's directory, for messages.
    pub package: String,
    /// How many threads may work on it.
    pub threads: NonZeroUsize,
}

/// The current rules, one thread, a package without a name.
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

/// What happens to unchanged bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Bytes {
    /// An unchanged document keeps its bytes.
    #[default]
    Keep,
    /// Every document is encoded again.
    Reencode,
}

/// What happens to a file whose resources were all moved or removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum EmptiedFiles {
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
    pub action: FileAction,
}

/// What happens to a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FileAction {
    /// It gets this content.
    Write(Vec<u8>),
    Delete,
}

/// Why resources cannot be written.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WriteError {
    /// A resource has no metadata.
    #[error("missing Resource metadata")]
    MissingMetadata,
    /// A resource's path or index is given and empty.
    #[error("resources must be annotated with {0} to be written to files")]
    MissingAnnotation(&'static str),
    /// A path begins with a slash.
    #[error("package paths may not be absolute paths")]
    AbsolutePath,
    /// A path has two dots in a row, which no path inside of the package needs.
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
    /// A path with a NUL byte.
    #[error("a file's path cannot have a NUL in it: {0}")]
    NulInPath(String),
    /// A path or a name in it is too long for file systems.
    #[error("path too long (255 bytes a name, 4096 in all): {0}")]
    PathTooLong(String),
    /// An index is not a number.
    #[error("unable to parse config.kubernetes.io/index {index} :{reason}")]
    Index {
        /// The annotation's value.
        index: String,
        reason: NumberError,
    },
    /// A file that no resource was read from would be replaced.
    #[error(
        "cannot write {0}: the file exists, and no resource was read from it; a function may only replace files of \
         resources, so remove the file or let the function use another path"
    )]
    NotRead(String),
    /// A path in the directory of a git repository.
    #[error("cannot write {0}: a function may not change files of git")]
    GitFile(String),
    /// A resource cannot be encoded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
}

/// The changes that write these resources to the package, by path. The error shows no values of Secrets of `before`; those of the
/// original tools do.
pub fn plan_write(
    resources: Vec<Resource>,
    before: &ReadSet,
    options: &WriteOptions,
) -> Result<Vec<FileChange>, WriteError> {
    let planned = plan_all(resources, before, options);
    planned.map_err(|error| match options.bytes {
        Bytes::Keep => before.secrets().into_mask().mask_write_error(error),
        Bytes::Reencode => error,
    })
}

fn plan_all(
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

/// Refuses changes of files of the package that are not files of resources, such as those in `.krmignore`. The original
/// tools replace them.
pub fn check_targets(
    changes: &[FileChange],
    before: &ReadSet,
    files: &dyn FileSource,
) -> Result<(), WriteError> {
    let checked = check_all_targets(changes, before, files);
    checked.map_err(|error| before.secrets().into_mask().mask_write_error(error))
}

fn check_all_targets(
    changes: &[FileChange],
    before: &ReadSet,
    files: &dyn FileSource,
) -> Result<(), WriteError> {
    for FileChange { path, action } in changes {
        let FileAction::Write(content) = action else {
            continue;
        };
        if before.get(path).is_some() {
            continue;
        }
        if path.split('/').any(|name| name == ".git") {
            return Err(WriteError::GitFile(path.clone()));
        }
        // What cannot be read is reported when it is written.
        if files.read(path).is_ok_and(|found| found != *content) {
            return Err(WriteError::NotRead(path.clone()));
        }
    }
    Ok(())
}

/// The files of a new directory with these resources, by path. `before` is what the resources were read from: unchanged
/// files and documents are copied.
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
) -> Result<BTreeMap<String, Vec<FileResource>>, WriteError> {
    let mut files: BTreeMap<String, Vec<FileResource>> = BTreeMap::new();
    for assigned in assign_files(resources, &options.package, options.dialect)? {
        files
            .entry(assigned.path.clone())
            .or_default()
            .push(assigned);
    }
    for file_resources in files.values_mut() {
        sort(file_resources)?;
    }
    check_directories(&files)?;
    Ok(files)
}

/// The path of a file and its bytes; `None` if they are unchanged.
type WrittenFile = (String, Option<Vec<u8>>);

/// The content of each file; `None` if it is unchanged.
fn contents(
    files: BTreeMap<String, Vec<FileResource>>,
    before: &ReadSet,
    options: &WriteOptions,
) -> Result<Vec<WrittenFile>, WriteError> {
    let files: Vec<(String, Vec<FileResource>)> = files.into_iter().collect();
    try_map(
        files,
        options.threads,
        Worth::Files,
        |(path, file_resources)| {
            let content = match options.bytes {
                Bytes::Keep => keep_bytes(file_resources, &path, before, options.dialect)?,
                Bytes::Reencode => {
                    let resources = file_resources
                        .into_iter()
                        .map(|assigned| assigned.resource)
                        .collect();
                    Some(write_documents(resources, options.dialect)?.into_bytes())
                }
            };
            Ok((path, content))
        },
    )
}

/// No file can be the package itself or a parent directory of another file.
fn check_directories(files: &BTreeMap<String, Vec<FileResource>>) -> Result<(), WriteError> {
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
