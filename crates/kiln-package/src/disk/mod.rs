//! The disk as a source of a package's files.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use kiln_krm::package::{Entry, EntryKind, FileError, FileSource};

use crate::dir::{EntryType, Meta, Stamp, Steps, read_regular};
use crate::recover::JOURNAL;
use crate::tree::{PackagePath, PackageTree, PathError, Walker};

/// How symbolic links to files outside of the package are treated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutsideLinks {
    /// They are not read: a package gives no access to files outside of it.
    Refuse,
    /// They are read, as in kpt.
    Follow,
}

/// The files below a directory. Directories that are symbolic links are listed, never entered.
///
/// It records which files were read, so that later changes to them can be detected.
pub struct DiskFiles {
    tree: PackageTree,
    outside_links: OutsideLinks,
    /// Files that are not listed.
    hidden: BTreeSet<String>,
    /// The version of each file when it was first read.
    seen: Mutex<BTreeMap<String, Stamp>>,
}

impl DiskFiles {
    /// Opens a directory; its path may contain links.
    pub fn open(root: &Path, outside_links: OutsideLinks) -> io::Result<DiskFiles> {
        Ok(DiskFiles {
            tree: PackageTree::open(root, Steps::default())?,
            outside_links,
            hidden: BTreeSet::new(),
            seen: Mutex::default(),
        })
    }

    /// Excludes some files, by their paths below the directory, from listings.
    #[must_use]
    pub fn without(self, hidden: impl IntoIterator<Item = String>) -> DiskFiles {
        DiskFiles {
            hidden: hidden.into_iter().collect(),
            ..self
        }
    }

    /// The directory's path without links.
    pub fn root(&self) -> &Path {
        self.tree.path()
    }

    /// The first file, by name, that was changed, replaced or removed since it was read; an empty name stands for the
    /// directory itself.
    ///
    /// Compares size, time and inode, which is fast; a file that was only touched counts as changed.
    pub fn changed_since_read(&self) -> Option<String> {
        let own = self.tree.root().own_meta().ok().map(|meta| meta.inode);
        let named = std::fs::metadata(self.tree.path()).ok();
        if own != named.map(|metadata| metadata.ino()) {
            return Some(String::new());
        }
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let seen: Vec<_> = seen.iter().collect();
        let same = self.tree.try_map(&seen, |walker, (path, stamp)| {
            match self.stamp(walker, path) == Some(**stamp) {
                true => Ok(()),
                false => Err((*path).clone()),
            }
        });
        same.err()
    }

    /// The current version of a file; `None` if it does not exist or cannot be reached.
    fn stamp(&self, walker: &mut Walker<'_>, path: &str) -> Option<Stamp> {
        let path = PackagePath::new(path).ok()?;
        let dir = walker.directory(path.directories()).ok()?;
        let meta = dir.meta(path.name()).ok()??;
        let meta = match (meta.kind, self.outside_links) {
            (EntryType::Symlink, OutsideLinks::Refuse) => self.tree.follow(&path).ok()?.old?,
            (EntryType::Symlink, OutsideLinks::Follow) => {
                Meta::of(&rustix::fs::stat(self.full_path(&path)).ok()?)
            }
            _ => meta,
        };
        Some(meta.stamp())
    }

    fn link_kind(&self, path: &PackagePath) -> EntryKind {
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

    fn full_path(&self, path: &PackagePath) -> PathBuf {
        self.tree.path().join(path.to_path())
    }

    fn read_inside(&self, path: &PackagePath) -> Result<(Vec<u8>, Stamp), PathError> {
        let dir = self.tree.directory(path.directories())?;
        // Nearly all are regular files, so other types are checked only after a failure.
        let error = match dir.read_stamped(path.name()) {
            Ok(read) => return Ok(read),
            Err(error) => error,
        };
        match dir.meta(path.name())?.map(|meta| meta.kind) {
            Some(EntryType::Symlink) => self.read_link(path),
            Some(EntryType::Directory) => Err(PathError::IsDirectory(path.show())),
            Some(EntryType::Other) => Err(PathError::NotAFile),
            Some(EntryType::File) | None => Err(error.into()),
        }
    }

    fn read_link(&self, path: &PackagePath) -> Result<(Vec<u8>, Stamp), PathError> {
        match self.outside_links {
            OutsideLinks::Refuse => {
                let place = self.tree.follow(path)?;
                Ok(place.dir.read_stamped(place.path.name())?)
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
        let parent = match PackagePath::new(dir) {
            Ok(path) => Some(path),
            Err(PathError::Empty) => None,
            Err(error) => return Err(wrong(error)),
        };
        let components = parent.as_ref().map_or(&[][..], PackagePath::components);
        let directory = self.tree.directory(components).map_err(wrong)?;
        let mut entries = Vec::new();
        for (name, kind) in directory.entries().map_err(|error| wrong(error.into()))? {
            // The root's journal is recovered before anything is read; one further down belongs to a command there.
            if name == JOURNAL && !dir.is_empty() {
                return Err(FileError::Failed {
                    path: join(dir, JOURNAL),
                    reason: format!(
                        "another kiln command is at work in {dir} or was interrupted there; \
                         run `kiln fn source` on that directory, then try again"
                    ),
                });
            }
            let Some(text) = name.to_str() else {
                if matters(&name, kind) {
                    return Err(FileError::Failed {
                        path: join(dir, &name.to_string_lossy()),
                        reason: "its name is not UTF-8".to_owned(),
                    });
                }
                continue;
            };
            if self.hidden.contains(&join(dir, text)) {
                continue;
            }
            let kind = match kind {
                EntryType::File => EntryKind::File,
                EntryType::Directory => EntryKind::Directory,
                EntryType::Symlink => {
                    let path = PackagePath::new(&join(dir, text)).map_err(wrong)?;
                    self.link_kind(&path)
                }
                EntryType::Other => EntryKind::Other,
            };
            entries.push(Entry {
                name: text.to_owned(),
                kind,
            });
        }
        Ok(entries)
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, FileError> {
        let (bytes, stamp) = PackagePath::new(path)
            .and_then(|inside| self.read_inside(&inside))
            .map_err(|error| file_error(path, error))?;
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.entry(path.to_owned()).or_insert(stamp);
        Ok(bytes)
    }
}

/// Whether an entry that cannot be named in an annotation could hold resources.
fn matters(name: &OsStr, kind: EntryType) -> bool {
    let bytes = name.as_encoded_bytes();
    kind == EntryType::Directory
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
                reason: kiln_go::errno_text(&error),
            },
        },
        error => FileError::Failed {
            path: path.to_owned(),
            reason: error.to_string(),
        },
    }
}

#[cfg(test)]
mod tests;
