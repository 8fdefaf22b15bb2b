//! The disk as a source of a package's files.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use kiln_krm::package::{Entry, EntryKind, FileError, FileSource};

use crate::dir::{Kind, Meta, Stamp, Steps, read_regular};
use crate::recover::JOURNAL;
use crate::tree::{Inside, PathError, Tree, Walker};

/// What becomes of symbolic links to files that are not in the package.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutsideLinks {
    /// They are not read: a package says nothing about what lies around it.
    Refuse,
    /// They are read wherever they lead, as kpt does.
    Follow,
}

/// The files below a directory. Directories that are symbolic links are listed, never entered.
///
/// It remembers which files were read, and can tell later whether they still are what they were.
pub struct DiskFiles {
    tree: Tree,
    outside_links: OutsideLinks,
    /// Files that are not listed.
    hidden: BTreeSet<String>,
    /// What each file was when it was first read.
    seen: Mutex<BTreeMap<String, Stamp>>,
}

impl DiskFiles {
    /// Opens a directory, whatever links lead to it.
    pub fn open(root: &Path, outside_links: OutsideLinks) -> io::Result<DiskFiles> {
        Ok(DiskFiles {
            tree: Tree::open(root, Steps::default())?,
            outside_links,
            hidden: BTreeSet::new(),
            seen: Mutex::default(),
        })
    }

    /// The same without some files, by their paths below the directory: they are not listed.
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

    /// The first file, by name, that somebody has changed, replaced or removed since it was read; an empty name
    /// stands for the directory itself.
    ///
    /// Known by size, time and inode, so that it costs little; a file that was only touched counts as changed.
    pub fn changed_since_read(&self) -> Option<String> {
        let own = self.tree.root().own_meta().ok().map(|meta| meta.inode);
        let named = std::fs::metadata(self.tree.path()).ok();
        if own != named.map(|metadata| metadata.ino()) {
            return Some(String::new());
        }
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut walker = self.tree.walker();
        let changed = seen
            .iter()
            .find(|(path, stamp)| self.stamp(&mut walker, path) != Some(**stamp));
        changed.map(|(path, _)| path.clone())
    }

    /// What a file is now; none if it is gone or cannot be reached.
    fn stamp(&self, walker: &mut Walker<'_>, path: &str) -> Option<Stamp> {
        let path = Inside::new(path).ok()?;
        let dir = walker.directory(path.directories()).ok()?;
        let meta = dir.meta(path.name()).ok()??;
        let meta = match (meta.kind, self.outside_links) {
            (Kind::Symlink, OutsideLinks::Refuse) => self.tree.follow(&path).ok()?.old?,
            (Kind::Symlink, OutsideLinks::Follow) => {
                Meta::of(&rustix::fs::stat(self.full_path(&path)).ok()?)
            }
            _ => meta,
        };
        Some(meta.stamp())
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

    fn read_inside(&self, path: &Inside) -> Result<(Vec<u8>, Stamp), PathError> {
        let dir = self.tree.directory(path.directories())?;
        // Nearly all are regular files: what else it may be is looked at only if it is not.
        let error = match dir.read_stamped(path.name()) {
            Ok(read) => return Ok(read),
            Err(error) => error,
        };
        match dir.meta(path.name())?.map(|meta| meta.kind) {
            Some(Kind::Symlink) => self.read_link(path),
            Some(Kind::Directory) => Err(PathError::IsDirectory(path.show())),
            Some(Kind::Other) => Err(PathError::NotAFile),
            Some(Kind::File) | None => Err(error.into()),
        }
    }

    fn read_link(&self, path: &Inside) -> Result<(Vec<u8>, Stamp), PathError> {
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
        let parent = match Inside::new(dir) {
            Ok(path) => Some(path),
            Err(PathError::Empty) => None,
            Err(error) => return Err(wrong(error)),
        };
        let components = parent.as_ref().map_or(&[][..], Inside::components);
        let directory = self.tree.directory(components).map_err(wrong)?;
        let mut entries = Vec::new();
        for (name, kind) in directory.entries().map_err(|error| wrong(error.into()))? {
            // The root's own is put right before anything is read; one further down belongs to a command on a part.
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
        let (bytes, stamp) = Inside::new(path)
            .and_then(|inside| self.read_inside(&inside))
            .map_err(|error| file_error(path, error))?;
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.entry(path.to_owned()).or_insert(stamp);
        Ok(bytes)
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
