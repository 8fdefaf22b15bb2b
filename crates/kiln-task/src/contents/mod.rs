//! The files of a package in memory, with their modes.
//!
//! Every path in here is a [`PackagePath`], which cannot lead out of the package, and no path is both a file and a
//! directory. Bytes are shared, so that contents are cheap to copy.

mod path;

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use kiln_krm::package::{FileAction, FileChange, MemoryFiles};

pub use path::PackagePath;
pub(crate) use path::UnsafePath;

/// All files of a package, by path.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Contents {
    files: BTreeMap<PackagePath, PackageFile>,
}

/// A file of a package, as git stores it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PackageFile {
    /// The content; of a symbolic link, its target.
    pub bytes: Arc<[u8]>,
    pub mode: FileMode,
}

/// The kinds of files in git.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum FileMode {
    #[default]
    Regular,
    Executable,
    Symlink,
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ContentsError {
    #[error(transparent)]
    Path(#[from] UnsafePath),
    #[error("{0:?} is both a file and a directory")]
    FileAndDirectory(String),
}

impl Contents {
    pub fn new() -> Contents {
        Contents::default()
    }

    /// Adds a file or replaces the one at its path.
    pub fn insert(&mut self, path: PackagePath, file: PackageFile) -> Result<(), ContentsError> {
        let clash = self.clash_with(path.as_str());
        if let Some(clash) = clash {
            return Err(ContentsError::FileAndDirectory(clash.to_owned()));
        }
        self.files.insert(path, file);
        Ok(())
    }

    /// Checks the path and adds a regular file.
    pub fn insert_text(&mut self, path: &str, text: impl AsRef<[u8]>) -> Result<(), ContentsError> {
        self.insert(PackagePath::new(path)?, PackageFile::regular(text.as_ref()))
    }

    /// Replaces the bytes of a file and keeps its mode. A new file is a regular one.
    pub fn write(&mut self, path: PackagePath, bytes: &[u8]) -> Result<(), ContentsError> {
        let mode = self.get(path.as_str()).map(|file| file.mode);
        let file = PackageFile {
            bytes: bytes.into(),
            mode: mode.unwrap_or_default(),
        };
        self.insert(path, file)
    }

    pub fn remove(&mut self, path: &str) -> Option<PackageFile> {
        self.files.remove(path)
    }

    pub fn get(&self, path: &str) -> Option<&PackageFile> {
        self.files.get(path)
    }

    /// The bytes of the file at a path; `None` for a symbolic link.
    pub fn bytes(&self, path: &str) -> Option<&[u8]> {
        let file = self.get(path)?;
        (file.mode != FileMode::Symlink).then_some(&*file.bytes)
    }

    /// All files, sorted by path.
    pub fn iter(&self) -> impl Iterator<Item = (&PackagePath, &PackageFile)> {
        self.files.iter()
    }

    /// The paths of all files, sorted.
    pub fn paths(&self) -> impl Iterator<Item = &PackagePath> {
        self.files.keys()
    }

    /// The paths of the files below a directory; of all files if that is empty. The cost depends on the files below only.
    pub(crate) fn paths_below(&self, directory: &str) -> impl Iterator<Item = &PackagePath> {
        let prefix = match directory {
            "" => String::new(),
            directory => format!("{directory}/"),
        };
        let range = (Bound::Included(prefix.as_str()), Bound::Unbounded);
        let files = self.files.range::<str, _>(range);
        files
            .map(|(path, _)| path)
            .take_while(move |path| path.as_str().starts_with(&prefix))
    }

    pub fn len(&self) -> usize {
        self.files.len()
    }

    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The files below a directory as a file source. Symbolic links are left out: nothing that reads or writes resources follows
    /// one.
    pub fn to_files_below(&self, directory: &str) -> MemoryFiles {
        let prefix = match directory {
            "" => String::new(),
            directory => format!("{directory}/"),
        };
        let files = self.files.iter();
        let files = files.filter(|(_, file)| file.mode != FileMode::Symlink);
        files
            .filter_map(|(path, file)| Some((path.as_str().strip_prefix(&prefix)?, &*file.bytes)))
            .collect()
    }

    /// Applies changes. Files keep their modes.
    pub fn apply(&mut self, changes: &[FileChange]) -> Result<(), ContentsError> {
        let is_delete = |change: &&FileChange| matches!(change.action, FileAction::Delete);
        for change in changes.iter().filter(is_delete) {
            self.remove(&change.path);
        }
        for change in changes {
            if let FileAction::Write(bytes) = &change.action {
                let path = PackagePath::new(&change.path)?;
                if self.get(&change.path).map(|file| file.mode) == Some(FileMode::Symlink) {
                    self.remove(&change.path);
                }
                self.write(path, bytes)?;
            }
        }
        Ok(())
    }

    /// The path that would be both a file and a directory.
    fn clash_with<'a>(&'a self, path: &'a str) -> Option<&'a str> {
        let slashes = path.match_indices('/').map(|(index, _)| index);
        let mut parents = slashes.filter_map(|index| path.get(..index));
        if let Some(parent) = parents.find(|parent| self.files.contains_key(*parent)) {
            return Some(parent);
        }
        let is_directory = self.paths_below(path).next().is_some();
        is_directory.then_some(path)
    }
}

impl PackageFile {
    pub fn regular(bytes: impl AsRef<[u8]>) -> PackageFile {
        PackageFile {
            bytes: bytes.as_ref().into(),
            mode: FileMode::Regular,
        }
    }
}

impl FileMode {
    /// The mode in git's trees.
    pub fn as_octal(self) -> &'static str {
        match self {
            FileMode::Regular => "100644",
            FileMode::Executable => "100755",
            FileMode::Symlink => "120000",
        }
    }

    /// Parses the mode in git's trees; `None` for directories and submodules.
    pub fn from_octal(octal: &str) -> Option<FileMode> {
        match octal {
            // Old versions of git stored the write permission of the group.
            "100644" | "100664" => Some(FileMode::Regular),
            "100755" => Some(FileMode::Executable),
            "120000" => Some(FileMode::Symlink),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
