//! The disk as a source of a package's files.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use kiln_krm::package::{Entry, EntryKind, FileError, FileSource};

use crate::dir::{Kind, Steps, read_regular};
use crate::tree::{Inside, PathError, Tree};

/// What becomes of symbolic links to files that are not in the package.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutsideLinks {
    /// They are not read: a package says nothing about what lies around it.
    Refuse,
    /// They are read wherever they lead, as kpt does.
    Follow,
}

/// The files below a directory. Directories that are symbolic links are listed, never entered.
pub struct DiskFiles {
    tree: Tree,
    outside_links: OutsideLinks,
}

impl DiskFiles {
    /// Opens a directory, whatever links lead to it.
    pub fn open(root: &Path, outside_links: OutsideLinks) -> io::Result<DiskFiles> {
        Ok(DiskFiles {
            tree: Tree::open(root, Steps::default())?,
            outside_links,
        })
    }

    /// The directory's path without links.
    pub fn root(&self) -> &Path {
        self.tree.path()
    }

    fn link_kind(&self, path: &Inside) -> EntryKind {
        match self.outside_links {
            OutsideLinks::Refuse => match self.tree.follow(path) {
                Ok(place) if place.old.is_some() => EntryKind::SymlinkToFile,
                Err(PathError::IsDirectory(_)) => EntryKind::SymlinkToDirectory,
                _ => EntryKind::Other,
            },
            OutsideLinks::Follow => match std::fs::metadata(self.full_path(path)) {
                Ok(target) if target.is_file() => EntryKind::SymlinkToFile,
                Ok(target) if target.is_dir() => EntryKind::SymlinkToDirectory,
                _ => EntryKind::Other,
            },
        }
    }

    fn full_path(&self, path: &Inside) -> PathBuf {
        self.tree.path().join(path.to_path())
    }

    fn read_inside(&self, path: &Inside) -> Result<Vec<u8>, PathError> {
        let dir = self.tree.directory(path.directories())?;
        match dir.meta(path.name())?.map(|meta| meta.kind) {
            Some(Kind::Symlink) => self.read_link(path),
            Some(Kind::Directory) => Err(PathError::IsDirectory(path.show())),
            Some(Kind::Other) => Err(PathError::NotAFile),
            // A missing file is the operating system's to report.
            Some(Kind::File) | None => Ok(dir.read(path.name())?),
        }
    }

    fn read_link(&self, path: &Inside) -> Result<Vec<u8>, PathError> {
        match self.outside_links {
            OutsideLinks::Refuse => {
                let place = self.tree.follow(path)?;
                Ok(place.dir.read(place.path.name())?)
            }
            OutsideLinks::Follow => {
                let file = File::options()
                    .read(true)
                    .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
                    .open(self.full_path(path))?;
                Ok(read_regular(file)?)
            }
        }
    }
}

impl FileSource for DiskFiles {
    fn list(&self, dir: &str) -> Result<Vec<Entry>, FileError> {
        let wrong = |error| file_error(dir, error);
        let parent = match Inside::new(dir) {
            Ok(path) => Some(path),
            Err(PathError::Empty) => None,
            Err(error) => return Err(wrong(error)),
        };
        let components = parent.as_ref().map_or(&[][..], Inside::components);
        let directory = self.tree.directory(components).map_err(wrong)?;
        let mut entries = Vec::new();
        for (name, kind) in directory.entries().map_err(|error| wrong(error.into()))? {
            let Some(text) = name.to_str() else {
                if matters(&name, kind) {
                    return Err(FileError::Failed {
                        path: join(dir, &name.to_string_lossy()),
                        reason: "its name is not UTF-8".to_owned(),
                    });
                }
                continue;
            };
            let kind = match kind {
                Kind::File => EntryKind::File,
                Kind::Directory => EntryKind::Directory,
                Kind::Symlink => {
                    let path = Inside::new(&join(dir, text)).map_err(wrong)?;
                    self.link_kind(&path)
                }
                Kind::Other => EntryKind::Other,
            };
            entries.push(Entry {
                name: text.to_owned(),
                kind,
            });
        }
        Ok(entries)
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, FileError> {
        Inside::new(path)
            .and_then(|inside| self.read_inside(&inside))
            .map_err(|error| file_error(path, error))
    }
}

/// Whether an entry that cannot be named in an annotation could hold resources.
fn matters(name: &OsStr, kind: Kind) -> bool {
    let bytes = name.as_encoded_bytes();
    kind == Kind::Directory
        || [&b".yaml"[..], b".yml", b".json"]
            .iter()
            .any(|suffix| bytes.ends_with(suffix))
}

fn join(dir: &str, name: &str) -> String {
    match dir {
        "" => name.to_owned(),
        dir => format!("{dir}/{name}"),
    }
}

fn file_error(path: &str, error: PathError) -> FileError {
    match error {
        PathError::IsDirectory(_) => FileError::IsDirectory(path.to_owned()),
        PathError::Io(error) => match error.kind() {
            io::ErrorKind::NotFound => FileError::NotFound(path.to_owned()),
            io::ErrorKind::IsADirectory => FileError::IsDirectory(path.to_owned()),
            _ => FileError::Failed {
                path: path.to_owned(),
                reason: system_words(&error),
            },
        },
        error => FileError::Failed {
            path: path.to_owned(),
            reason: error.to_string(),
        },
    }
}

/// An operating system's error in the words that Go programs use: lower case, no number.
pub fn system_words(error: &io::Error) -> String {
    let text = error.to_string();
    let text = match text.find(" (os error ") {
        Some(end) => text.get(..end).unwrap_or(&text),
        None => &text,
    };
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_lowercase().chain(chars).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests;
