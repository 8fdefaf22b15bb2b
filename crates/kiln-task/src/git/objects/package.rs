//! Reads the files of a package from a commit.
//!
//! Trees are not trusted: paths are checked, and the amount that is read is limited.

use std::collections::HashSet;

use crate::contents::{Contents, ContentsError, FileMode, PackageFile, PackagePath, UnsafePath};

use super::super::program::GitError;
use super::reader::{ObjectKind, ObjectReader};
use super::tree::GitTree;

#[derive(Debug, thiserror::Error)]
pub enum ReadPackageError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Path(#[from] UnsafePath),
    /// The path of a file conflicts with that of another.
    #[error(transparent)]
    Contents(#[from] ContentsError),
    #[error("the name of a file in {directory:?} is not valid UTF-8")]
    NotText { directory: String },
    #[error("{0} is a git submodule, which packages cannot have")]
    Submodule(String),
    #[error("the package is larger than {limit} bytes")]
    TooLarge { limit: u64 },
    #[error("the package has more than {limit} files and directories")]
    TooMany { limit: usize },
    /// An object is missing or invalid.
    #[error(
        "{0} cannot be read: the repository is damaged, or it is a partial clone whose missing objects kiln does not fetch (complete it with `git fetch --refetch --no-filter`)"
    )]
    Damaged(String),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct PackageLimits {
    pub(crate) bytes: u64,
    pub(crate) entries: usize,
}

impl PackageLimits {
    /// Refuses a package that could not be read again.
    pub(crate) fn check(self, contents: &Contents) -> Result<(), ReadPackageError> {
        let sizes = contents.iter().map(|(_, file)| file.bytes.len() as u64);
        if sizes.fold(0, u64::saturating_add) > self.bytes {
            return Err(ReadPackageError::TooLarge { limit: self.bytes });
        }
        let mut directories = HashSet::new();
        for path in contents.paths() {
            let mut directory = path.directory();
            // A known directory has known parents.
            while !directory.is_empty() && directories.insert(directory) {
                directory = directory.rsplit_once('/').map_or("", |(parent, _)| parent);
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

/// Decides about a git submodule in a package: an error, or nothing to leave it out.
pub(crate) type OnSubmodule<'a> = &'a mut dyn FnMut(&PackagePath) -> Result<(), ReadPackageError>;

/// The files below a directory of a commit; `None` if there is no such directory.
pub(crate) fn read_package(
    reader: &mut ObjectReader,
    commit: &str,
    directory: &str,
    limits: PackageLimits,
    on_submodule: OnSubmodule<'_>,
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
            let tree = GitTree::parse(&bytes, &id);
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
                    on_submodule(&path)?;
                } else {
                    let mode = FileMode::from_octal(&entry.mode);
                    blobs.push((path, mode.unwrap_or_default()));
                    blob_ids.push(entry.id.to_string());
                }
            }
        }
        let mut missing = None;
        let mut found = Vec::new();
        reader.read_all(&below_ids, limits.bytes, |index, object| {
            match (object, below.get(index)) {
                (Some(object), Some(path)) => found.push((path.clone(), object.bytes, object.id)),
                _ => missing = below_ids.get(index).cloned(),
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
    reader: &mut ObjectReader,
    blobs: Vec<(PackagePath, FileMode)>,
    ids: &[String],
    limits: PackageLimits,
) -> Result<Vec<(PackagePath, PackageFile)>, ReadPackageError> {
    let mut left = limits.bytes;
    let mut problem = None;
    let mut files = Vec::with_capacity(blobs.len());
    let mut blobs = blobs.into_iter();
    // One budget for all files, because a limit per file would let many files fill the memory.
    for ids in ids.chunks(64) {
        reader.read_all(ids, left, |index, object| {
            let Some((path, mode)) = blobs.next() else {
                return;
            };
            let Some(object) = object else {
                problem = ids.get(index).cloned().map(ReadPackageError::Damaged);
                return;
            };
            match (object.bytes, left.checked_sub(object.size)) {
                (Some(bytes), Some(rest)) => {
                    left = rest;
                    let bytes = bytes.into();
                    files.push((path, PackageFile { bytes, mode }));
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
