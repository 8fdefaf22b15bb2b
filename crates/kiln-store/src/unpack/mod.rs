//! Unpacks the layers of an image into one directory. Registry content is hostile.
//!
//! | matter | rule |
//! |---|---|
//! | parents | links are followed inside the root, and missing directories are created there (`in_root`) |
//! | last components | no system call follows a link; what is in the way is removed first (`tree`) |
//! | names | `..`, NUL, empty names and names longer than Linux allows are errors (`path`) |
//! | hard links | only to regular files of the image |
//! | whiteouts | remove what lower layers have; an entry of the same layer wins, in either order |
//! | devices and FIFOs | are not created, but noted |
//! | modes | `& 0777`, and the owner can always read; owners and extended attributes are not kept |
//! | times | of files and directories are kept |
//! | limits | are counted while the layer is read (`limits`) |
//! | config | its working directory and volumes are created like directories of a layer, within the limits (`finish`) |

mod archive;
mod error;
mod finish;
mod header;
mod limits;
mod path;
mod pax;
mod sparse;
mod tree;
mod write_file;

use std::collections::HashMap;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};

use archive::ArchiveEntry;
pub(crate) use archive::{ArchiveReader, EntryKind};
pub use error::{UnpackError, UnpackProblem, UnpackStep};
pub(crate) use finish::completion_error;
use limits::Budget;
pub(crate) use limits::StreamBudget;
pub use limits::UnpackLimits;
use path::EntryPath;
use tree::{Directory, Tree};

use crate::meta::{SkippedEntry, SkippedKind};
use crate::record::{ContentHash, escaped};

/// How many skipped entries are noted.
const MAX_NOTED: usize = 100;
/// How much of a name is shown.
const MAX_SHOWN: usize = 200;
const WHITEOUT: &[u8] = b".wh.";
const WHITEOUT_META: &[u8] = b".wh..wh.";
const OPAQUE: &[u8] = b".wh..wh..opq";

/// Unpacks the layers of an image into a directory, lowest first.
#[derive(Debug)]
pub struct Unpacker {
    tree: Tree,
    /// How many layers were begun.
    layers: usize,
    budget: Budget,
    /// The hashes of files by inode. Those of removed files stay until another file has their inode.
    hashes: HashMap<u64, ContentHash>,
    skipped: Vec<SkippedEntry>,
}

impl Unpacker {
    /// Unpacks into an empty directory.
    pub fn new(root: &Path, limits: UnpackLimits) -> io::Result<Unpacker> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let root = rustix::fs::open(root, flags, Mode::empty())?;
        Ok(Unpacker {
            tree: Tree::new(root)?,
            layers: 0,
            budget: Budget::new(limits),
            hashes: HashMap::new(),
            skipped: Vec::new(),
        })
    }

    /// Unpacks a layer, a tar archive that is not compressed. `packed` is the size of the layer in the registry.
    pub fn apply(&mut self, layer: &mut dyn Read, packed: u64) -> Result<(), UnpackError> {
        self.tree.begin_layer();
        self.layers += 1;
        let layer_number = self.layers;
        let mut reader = ArchiveReader::new(layer, self.budget.stream(packed));
        let unreadable = |source| UnpackError {
            step: UnpackStep::Layer(layer_number),
            source,
        };
        while let Some(entry) = reader.next_entry().map_err(unreadable)? {
            let applied = self.apply_entry(&entry, &mut reader);
            applied.map_err(|source| UnpackError {
                step: UnpackStep::Entry {
                    layer: layer_number,
                    name: shown(&entry.path),
                },
                source,
            })?;
        }
        let read = reader.finish().map_err(unreadable)?;
        self.budget.count_stream(read);
        Ok(())
    }

    fn apply_entry(
        &mut self,
        entry: &ArchiveEntry,
        reader: &mut ArchiveReader<'_>,
    ) -> Result<(), UnpackProblem> {
        self.budget.count_entry()?;
        let Some(path) = EntryPath::parse(&entry.path)? else {
            return self.apply_root(entry);
        };
        if let Some(name) = path.name().strip_prefix(WHITEOUT) {
            return self.apply_whiteout(&path, name);
        }
        let parent = self.tree.parent(&path, &mut self.budget)?;
        let name = path.name();
        match &entry.kind {
            EntryKind::Directory => {
                let (mode, budget) = (entry.mode, &self.budget);
                let inode = self.tree.make_directory(&parent, name, mode, budget)?;
                self.tree.directory_times.insert(inode, entry.modified);
            }
            EntryKind::File => self.apply_file(&parent, name, entry, reader)?,
            EntryKind::Symlink(target) => {
                check_symlink_target(target)?;
                self.tree.make_symlink(&parent, name, target)?;
            }
            EntryKind::HardLink(target) => {
                let target = EntryPath::parse(target).map_err(as_link_target)?;
                let target = target.ok_or(UnpackProblem::LinkTarget("it is not a regular file"))?;
                self.tree.make_hard_link(&parent, name, &target)?;
            }
            EntryKind::CharacterDevice => {
                self.skip(&parent, &path, entry, SkippedKind::CharacterDevice)?;
            }
            EntryKind::BlockDevice => {
                self.skip(&parent, &path, entry, SkippedKind::BlockDevice)?;
            }
            EntryKind::Fifo => self.skip(&parent, &path, entry, SkippedKind::Fifo)?,
        }
        Ok(())
    }

    /// An entry for the root itself sets its mode.
    fn apply_root(&mut self, entry: &ArchiveEntry) -> Result<(), UnpackProblem> {
        if entry.kind != EntryKind::Directory {
            return Err(UnpackProblem::Name("it is the root, which is a directory"));
        }
        tree::set_mode(self.tree.root(), b".", entry.mode)?;
        Ok(())
    }

    /// `name` is what follows the prefix of whiteouts.
    fn apply_whiteout(&mut self, path: &EntryPath, name: &[u8]) -> Result<(), UnpackProblem> {
        if matches!(name, b"" | b"." | b"..") {
            return Err(UnpackProblem::Name("it is a whiteout of nothing"));
        }
        let is_opaque = path.name() == OPAQUE;
        if path.name().starts_with(WHITEOUT_META) && !is_opaque {
            return Ok(());
        }
        let Some(parent) = self.tree.existing_parent(path)? else {
            return Ok(());
        };
        match is_opaque {
            true => self.tree.remove_lower_entries(&parent)?,
            false => self.tree.remove_lower(&parent, name)?,
        }
        Ok(())
    }

    fn apply_file(
        &mut self,
        parent: &Arc<Directory>,
        name: &[u8],
        entry: &ArchiveEntry,
        reader: &mut ArchiveReader<'_>,
    ) -> Result<(), UnpackProblem> {
        self.budget.count_file(entry.size)?;
        let file = self.tree.create_file(parent, name)?;
        let written = write_file::write_file(file, entry, reader)?;
        self.hashes.insert(written.inode, written.hash);
        Ok(())
    }

    /// Notes an entry that is not unpacked.
    fn skip(
        &mut self,
        parent: &Arc<Directory>,
        path: &EntryPath,
        entry: &ArchiveEntry,
        kind: SkippedKind,
    ) -> Result<(), UnpackProblem> {
        self.tree.clear(parent, path.name())?;
        if self.skipped.len() < MAX_NOTED {
            let path = shown(&entry.path);
            self.skipped.push(SkippedEntry { path, kind });
        }
        Ok(())
    }
}

/// The beginning of a name, for messages.
fn shown(name: &[u8]) -> String {
    match name.get(..MAX_SHOWN) {
        Some(start) => format!("{}…", escaped(start)),
        None => escaped(name),
    }
}

/// A symbolic link may have any text that the system can store.
fn check_symlink_target(target: &[u8]) -> Result<(), UnpackProblem> {
    match target {
        [] => Err(UnpackProblem::LinkTarget("it is empty")),
        target if target.contains(&0) => Err(UnpackProblem::LinkTarget("it has a NUL")),
        target if target.len() >= 4096 => {
            Err(UnpackProblem::LinkTarget("it is longer than 4095 bytes"))
        }
        _ => Ok(()),
    }
}

fn as_link_target(problem: UnpackProblem) -> UnpackProblem {
    match problem {
        UnpackProblem::Name(text) => UnpackProblem::LinkTarget(text),
        problem => problem,
    }
}
