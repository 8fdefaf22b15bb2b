//! Finishing or undoing the changes of a killed command.
//!
//! A journal may be forged. It is followed only if it was written for this very directory, its paths are walked
//! like any others, and only those temporary files are touched that have the names and the content of the
//! journal: no journal reaches anything outside of the package.

use std::fmt;
use std::io;
use std::path::Path;

use thiserror::Error;

use crate::dir::{Dir, EntryType, Meta, Steps};
use crate::journal::{Fingerprint, Journal, JournalState, Overwrite, Put};
use crate::tree::{PackagePath, PackageTree, PathError, Walker};

/// The journal's name in the package's root. Its name is not that of a resource file.
pub const JOURNAL: &str = ".kiln-journal";

/// A larger journal was not written by kiln: it would list millions of files.
const LARGEST_JOURNAL: u64 = 1 << 30;

/// What was done about an interrupted command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Recovery {
    /// The command had committed its changes, and they are now complete.
    Finished {
        /// Files that were written or deleted.
        files: Vec<String>,
    },
    /// The command had not replaced anything, and its temporary files were removed.
    Undone {
        /// Files that keep their old content.
        files: Vec<String>,
    },
}

impl fmt::Display for Recovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verb, files) = match self {
            Recovery::Finished { files } => ("finished", files),
            Recovery::Undone { files } => ("undid", files),
        };
        write!(f, "{verb} an interrupted change of {} file", files.len())?;
        if files.len() != 1 {
            f.write_str("s")?;
        }
        const SHOWN: usize = 5;
        for (place, file) in files.iter().take(SHOWN).enumerate() {
            f.write_str(if place == 0 { ": " } else { ", " })?;
            f.write_str(file)?;
        }
        if files.len() > SHOWN {
            f.write_str(", …")?;
        }
        Ok(())
    }
}

/// Why an interrupted command could neither be finished nor undone.
#[derive(Debug, Error)]
pub enum RecoverError {
    /// The package cannot be opened, or its journal not be read.
    #[error("cannot look for an interrupted command in {path}")]
    Open {
        /// The package as it was named.
        path: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The journal cannot be read.
    #[error(
        "{JOURNAL} is damaged; compare the package with what it should be, then delete the file"
    )]
    Damaged,
    /// The journal was copied along with the package.
    #[error(
        "{JOURNAL} was written for another directory and is not followed; \
         compare the package with what it should be, then delete the file"
    )]
    Foreign,
    /// The journal is another user's, in a directory that is not theirs.
    #[error(
        "{JOURNAL} was written by another user and is not followed; let them run kiln here, or \
         compare the package with what it should be, then delete the file"
    )]
    NotOurs,
    /// New content that was written before the interruption has changed.
    #[error(
        "the new content of {path} was damaged after an interrupted command; \
         compare the package with what it should be, then delete {JOURNAL} and the .kiln-*.tmp files"
    )]
    Content { path: String },
    /// A file to be written over has neither its old nor its new content.
    #[error(
        "{path} was changed after an interrupted command; \
         compare the package with what it should be, then delete {JOURNAL}"
    )]
    Changed { path: String },
    /// A path of the journal cannot be used.
    #[error("cannot finish the interrupted change of {path}")]
    Path { path: String, source: PathError },
}

/// Finishes or undoes the changes of an interrupted command in the package at `root`; `None` if there are none.
///
/// An exclusive lock must be held if other kiln commands may use the package.
pub fn recover(root: &Path) -> Result<Option<Recovery>, RecoverError> {
    recover_stepwise(root, Steps::default())
}

pub(crate) fn recover_stepwise(
    root: &Path,
    steps: Steps,
) -> Result<Option<Recovery>, RecoverError> {
    let open_error = |source| RecoverError::Open {
        path: root.display().to_string(),
        source,
    };
    let tree = PackageTree::open(root, steps).map_err(open_error)?;
    let Some(meta) = tree.root().meta(JOURNAL).map_err(open_error)? else {
        return Ok(None);
    };
    if meta.kind != EntryType::File || meta.size > LARGEST_JOURNAL {
        return Err(RecoverError::Damaged);
    }
    let root = tree.root().own_meta().map_err(open_error)?;
    if !is_trusted(&meta, &root) {
        return Err(RecoverError::NotOurs);
    }
    let text = tree.root().read(JOURNAL).map_err(open_error)?;
    let inode = root.inode;
    match Journal::read(&text) {
        JournalState::Damaged => Err(RecoverError::Damaged),
        JournalState::Planned(journal) | JournalState::Committed(journal, _)
            if journal.package != inode =>
        {
            Err(RecoverError::Foreign)
        }
        JournalState::Unplanned => {
            tree.root().remove(JOURNAL).map_err(open_error)?;
            Ok(Some(Recovery::Undone { files: Vec::new() }))
        }
        JournalState::Planned(journal) => {
            let done = only_change_is_done(&tree, &journal)?;
            undo(&tree, &journal)?;
            let files = files_of(&journal);
            Ok(Some(match done {
                true => Recovery::Finished { files },
                false => Recovery::Undone { files },
            }))
        }
        JournalState::Committed(journal, contents) => {
            finish(&tree, &journal, &contents)?;
            let files = files_of(&journal);
            Ok(Some(Recovery::Finished { files }))
        }
    }
}

/// Whether the author of the journal could have made its changes without us: in a directory that several users may write
/// to, a journal of another user would make us replace files with our permissions.
fn is_trusted(journal: &Meta, root: &Meta) -> bool {
    let us = rustix::process::geteuid();
    [us, root.owner, rustix::fs::Uid::ROOT].contains(&journal.owner)
}

fn files_of(journal: &Journal) -> Vec<String> {
    let puts = journal.puts.iter().map(|put| &put.path);
    let overwrites = journal.overwrites.iter().map(|over| &over.path);
    puts.chain(overwrites)
        .chain(&journal.deletes)
        .map(PackagePath::show)
        .collect()
}

/// Whether the plan replaces only one file, which needs no commit line, and the file has been replaced.
fn only_change_is_done(tree: &PackageTree, journal: &Journal) -> Result<bool, RecoverError> {
    if !journal.is_single() {
        return Ok(false);
    }
    match (journal.puts.as_slice(), journal.deletes.as_slice()) {
        ([put], []) => {
            let Some(dir) = existing(&mut tree.walker(), &put.path)? else {
                return Ok(false);
            };
            Ok(dir
                .read(put.path.name())
                .is_ok_and(|content| Fingerprint::of(&content) == put.content))
        }
        ([], [path]) => {
            let Some(dir) = existing(&mut tree.walker(), path)? else {
                return Ok(true);
            };
            let meta = dir
                .meta(path.name())
                .map_err(|source| path_error(path, source.into()))?;
            Ok(meta.is_none())
        }
        _ => Ok(false),
    }
}

/// Removes temporary files, then directories that were made for them and are empty, then the journal.
pub(crate) fn undo(tree: &PackageTree, journal: &Journal) -> Result<(), RecoverError> {
    let walker = &mut tree.walker();
    for put in &journal.puts {
        if let Some(dir) = existing(walker, &put.path)? {
            remove_if_there(&dir, &put.temporary)
                .map_err(|source| path_error(&put.path, source.into()))?;
        }
    }
    for path in journal.directories.iter().rev() {
        if let Some(dir) = existing(walker, path)? {
            // It stays if it is no longer empty.
            let _ = dir.remove_dir(path.name());
        }
    }
    forget(tree)
}

/// Renames the temporary files that have not been renamed yet, writes over what has not been written over yet, deletes
/// what is to be deleted, then the journal. Everything is checked before anything is changed.
fn finish(tree: &PackageTree, journal: &Journal, contents: &[&[u8]]) -> Result<(), RecoverError> {
    // No open directories are kept: there may be thousands of files.
    let walker = &mut tree.walker();
    let mut renames: Vec<&Put> = Vec::new();
    for put in &journal.puts {
        let Some(dir) = existing(walker, &put.path)? else {
            continue;
        };
        let meta = dir
            .meta(&put.temporary)
            .map_err(|source| path_error(&put.path, source.into()))?;
        if meta.is_some() {
            let is_whole = dir
                .read(&put.temporary)
                .is_ok_and(|content| Fingerprint::of(&content) == put.content);
            if !is_whole {
                return Err(RecoverError::Content {
                    path: put.path.show(),
                });
            }
            renames.push(put);
        }
    }
    let mut overwrites: Vec<(&Overwrite, &[u8])> = Vec::new();
    for (over, content) in journal.overwrites.iter().zip(contents) {
        if let Some(dir) = existing(walker, &over.path)?
            && is_still_old(&dir, over)?
        {
            overwrites.push((over, content));
        }
    }
    for put in renames {
        if let Some(dir) = existing(walker, &put.path)? {
            dir.rename(&put.temporary, put.path.name())
                .and_then(|()| dir.sync())
                .map_err(|source| path_error(&put.path, source.into()))?;
        }
    }
    for (over, content) in overwrites {
        if let Some(dir) = existing(walker, &over.path)? {
            dir.overwrite(over.path.name(), &over.old, content)
                .map_err(|source| path_error(&over.path, source.into()))?;
        }
    }
    for path in &journal.deletes {
        if let Some(dir) = existing(walker, path)? {
            remove_if_there(&dir, path.name()).map_err(|source| path_error(path, source.into()))?;
        }
    }
    forget(tree)
}

/// Whether a file must still be written over: not if that was done or the file was deleted.
fn is_still_old(dir: &Dir, over: &Overwrite) -> Result<bool, RecoverError> {
    let name = over.path.name();
    let on_file = |source: io::Error| path_error(&over.path, source.into());
    let Some(meta) = dir.meta(name).map_err(on_file)? else {
        return Ok(false);
    };
    if meta.kind == EntryType::File && meta.stamp() == over.old {
        return Ok(true);
    }
    let is_done = dir
        .read(name)
        .is_ok_and(|content| Fingerprint::of(&content) == over.content);
    match is_done {
        true => Ok(false),
        false => Err(RecoverError::Changed {
            path: over.path.show(),
        }),
    }
}

fn forget(tree: &PackageTree) -> Result<(), RecoverError> {
    let root = tree.root();
    remove_if_there(root, JOURNAL)
        .and_then(|()| root.sync())
        .map_err(|source| RecoverError::Open {
            path: tree.path().display().to_string(),
            source,
        })
}

/// The directory that a path is in, if it exists; links on the way are an error.
fn existing(walker: &mut Walker<'_>, path: &PackagePath) -> Result<Option<Dir>, RecoverError> {
    match walker.directory(path.directories()) {
        Ok(dir) => Ok(Some(dir)),
        Err(PathError::Io(error)) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(path_error(path, error)),
    }
}

fn remove_if_there(dir: &Dir, name: impl AsRef<std::ffi::OsStr>) -> io::Result<()> {
    match dir.remove(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn path_error(path: &PackagePath, source: PathError) -> RecoverError {
    RecoverError::Path {
        path: path.show(),
        source,
    }
}
