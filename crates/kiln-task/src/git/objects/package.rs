//! The files of a package, read out of a commit.
//!
//! Nothing about a foreign tree is believed: paths are checked, and there is a limit to how much is read.

use std::collections::HashSet;

use crate::contents::{Contents, ContentsError, File, FileMode, PackagePath, UnsafePath};

use super::super::id::ObjectId;
use super::super::program::GitError;
use super::reader::{ObjectKind, Reader};
use super::tree::Tree;

/// Why a package cannot be read out of a commit.
#[derive(Debug, thiserror::Error)]
pub enum ReadPackageError {
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A file has a path that no package has.
    #[error(transparent)]
    Path(#[from] UnsafePath),
    /// A file has a path that another file does not leave room for.
    #[error(transparent)]
    Contents(#[from] ContentsError),
    /// A file's name is not text.
    #[error("the name of a file in {directory:?} is not valid UTF-8")]
    NotText {
        /// The directory.
        directory: String,
    },
    /// A repository inside the repository.
    #[error("{0} is a git submodule, which packages cannot have")]
    Submodule(String),
    /// There is too much.
    #[error("the package is larger than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// There are too many files.
    #[error("the package has more than {limit} files and directories")]
    TooMany {
        /// The limit.
        limit: usize,
    },
    /// An object is missing or makes no sense.
    #[error(
        "{0} cannot be read: the repository is damaged, or a partial clone, for which nothing is fetched (`git fetch --refetch --no-filter` completes it)"
    )]
    Damaged(String),
}

/// How much is read at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) bytes: u64,
    pub(crate) entries: usize,
}

impl Limits {
    /// Whether a package that is written can be read again.
    pub(crate) fn check(self, contents: &Contents) -> Result<(), ReadPackageError> {
        let sizes = contents.iter().map(|(_, file)| file.bytes.len() as u64);
        if sizes.fold(0, u64::saturating_add) > self.bytes {
            return Err(ReadPackageError::TooLarge { limit: self.bytes });
        }
        let mut directories = HashSet::new();
        for path in contents.paths() {
            let mut directory = path.directory();
            // Who knows a directory knows those around it.
            while !directory.is_empty() && directories.insert(directory) {
                directory = directory.rsplit_once('/').map_or("", |(around, _)| around);
            }
        }
        match contents.len() + directories.len() > self.entries {
            true => Err(ReadPackageError::TooMany {
                limit: self.entries,
            }),
            false => Ok(()),
        }
    }
}

/// The files below a directory of a commit; none if there is no such directory.
pub(crate) fn read_package(
    reader: &mut Reader,
    commit: &ObjectId,
    directory: &str,
    limits: Limits,
) -> Result<Option<Contents>, ReadPackageError> {
    let root = match directory {
        "" => format!("{commit}^{{tree}}"),
        directory => format!("{commit}:{directory}"),
    };
    let Some(root) = reader.read(&root, limits.bytes)? else {
        return Ok(None);
    };
    if root.kind != ObjectKind::Tree {
        return Ok(None);
    }
    let mut entries_left = limits.entries;
    let mut trees = vec![(String::new(), root.bytes, root.id)];
    let mut blobs: Vec<(PackagePath, FileMode)> = Vec::new();
    let mut blob_ids = Vec::new();
    while !trees.is_empty() {
        let mut below = Vec::new();
        let mut below_ids = Vec::new();
        for (directory, bytes, id) in std::mem::take(&mut trees) {
            let bytes = bytes.ok_or(ReadPackageError::TooLarge {
                limit: limits.bytes,
            })?;
            let tree = Tree::parse(&bytes, &id);
            let tree = tree.ok_or_else(|| ReadPackageError::Damaged(id.to_string()))?;
            for entry in tree.entries {
                entries_left = entries_left
                    .checked_sub(1)
                    .ok_or(ReadPackageError::TooMany {
                        limit: limits.entries,
                    })?;
                let name = String::from_utf8(entry.name.clone());
                let name = name.map_err(|_| ReadPackageError::NotText {
                    directory: directory.clone(),
                })?;
                let path = match directory.as_str() {
                    "" => name,
                    directory => format!("{directory}/{name}"),
                };
                let path = PackagePath::new(path)?;
                if entry.is_directory() {
                    below.push(path.as_str().to_owned());
                    below_ids.push(entry.id.to_string());
                } else if entry.is_submodule() {
                    return Err(ReadPackageError::Submodule(path.to_string()));
                } else {
                    let mode = FileMode::from_octal(&entry.mode);
                    blobs.push((path, mode.unwrap_or_default()));
                    blob_ids.push(entry.id.to_string());
                }
            }
        }
        let mut missing = None;
        let mut found = Vec::new();
        reader.read_all(&below_ids, limits.bytes, |place, object| {
            match (object, below.get(place)) {
                (Some(object), Some(path)) => found.push((path.clone(), object.bytes, object.id)),
                _ => missing = below_ids.get(place).cloned(),
            }
        })?;
        if let Some(missing) = missing {
            return Err(ReadPackageError::Damaged(missing));
        }
        trees = found;
    }
    let files = read_files(reader, blobs, &blob_ids, limits)?;
    let mut contents = Contents::new();
    for (path, file) in files {
        contents.insert(path, file)?;
    }
    Ok(Some(contents))
}

fn read_files(
    reader: &mut Reader,
    blobs: Vec<(PackagePath, FileMode)>,
    ids: &[String],
    limits: Limits,
) -> Result<Vec<(PackagePath, File)>, ReadPackageError> {
    let mut left = limits.bytes;
    let mut problem = None;
    let mut files = Vec::with_capacity(blobs.len());
    let mut blobs = blobs.into_iter();
    // A limit for each file would let many of them fill the memory, so what is left shrinks from batch to batch.
    for ids in ids.chunks(64) {
        reader.read_all(ids, left, |place, object| {
            let Some((path, mode)) = blobs.next() else {
                return;
            };
            let Some(object) = object else {
                problem = ids.get(place).cloned().map(ReadPackageError::Damaged);
                return;
            };
            match (object.bytes, left.checked_sub(object.size)) {
                (Some(bytes), Some(rest)) => {
                    left = rest;
                    let bytes = bytes.into();
                    files.push((path, File { bytes, mode }));
                }
                _ => {
                    problem = Some(ReadPackageError::TooLarge {
                        limit: limits.bytes,
                    });
                }
            }
        })?;
        if let Some(problem) = problem {
            return Err(problem);
        }
    }
    Ok(files)
}
