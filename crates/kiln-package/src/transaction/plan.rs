//! Planning changes and checking them against the disk. Nothing is changed here.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;

use kiln_krm::package::{FileAction, FileChange};

use super::in_place::InPlace;
use super::{Applied, ApplyError};
use crate::dir::{EntryType, Meta};
use crate::journal::{Fingerprint, Journal, Overwrite, Put, temporary_name};
use crate::tree::{PackagePath, PackageTree, PathError, ResolvedPath, Walker};

/// The changes to make, checked against the disk.
pub(super) struct Plan<'a> {
    pub(super) journal: Journal,
    /// The content for each of the journal's puts. No open directories: there may be thousands of files.
    pub(super) puts: Vec<Staging<'a>>,
    /// The contents of the journal's overwrites.
    pub(super) contents: Vec<&'a [u8]>,
}

/// The new content of a file and what it replaces.
pub(super) struct Staging<'a> {
    pub(super) content: &'a [u8],
    /// How many of the directories around it do not exist yet.
    pub(super) missing: usize,
    pub(super) old: Option<Meta>,
}

impl<'a> Plan<'a> {
    /// Checks all files of the changes; also returns the result of carrying out the plan.
    pub(super) fn new(
        tree: &PackageTree,
        changes: &'a [FileChange],
        package: u64,
        in_place: &InPlace,
    ) -> Result<(Plan<'a>, Applied), ApplyError> {
        let transaction = RandomState::new().build_hasher().finish();
        let mut plan = Plan {
            journal: Journal {
                package,
                directories: Vec::new(),
                puts: Vec::new(),
                overwrites: Vec::new(),
                deletes: Vec::new(),
            },
            puts: Vec::new(),
            contents: Vec::new(),
        };
        let mut applied = Applied::default();
        let Ok(checked) = tree.try_map(changes, |walker, change| {
            Ok::<_, Infallible>(CheckedFile::new(walker, change))
        });
        let mut files: HashMap<PackagePath, &FileChange> = HashMap::new();
        for (change, checked) in changes.iter().zip(checked) {
            let FileChange { path, action } = change;
            let path_error = |source| match source {
                PathError::IsDirectory(_) => ApplyError::IsDirectory { path: path.clone() },
                source => ApplyError::Path {
                    path: path.clone(),
                    source,
                },
            };
            let checked = checked.map_err(path_error)?;
            let file = checked.path.clone();
            match action {
                FileAction::Write(content) => {
                    if let Some(first) = files.get(&file)
                        && first.action == *action
                    {
                        // A link to the file: what is written to the one is written to both.
                        applied.add_link(path, &first.path);
                        continue;
                    }
                    if checked.is_done {
                        applied.unchanged.push(path.clone());
                    } else {
                        match checked.old.filter(|old| in_place.fits(old, content)) {
                            Some(old) => plan.overwrite(checked.path, &old, content),
                            None => {
                                let temporary = temporary_name(transaction, plan.puts.len());
                                plan.put(checked, temporary, content);
                            }
                        }
                        applied.written.push(path.clone());
                    }
                }
                FileAction::Delete => {
                    if !checked.is_done {
                        plan.journal.deletes.push(checked.path);
                        applied.deleted.push(path.clone());
                    }
                }
            }
            // Writing and deleting one file is a contradiction even if there is nothing to delete.
            if let Some(first) = files.insert(file, change) {
                return Err(ApplyError::Twice {
                    path: path.clone(),
                    first: first.path.clone(),
                });
            }
        }
        plan.check_directories(&files.into_keys().collect())?;
        Ok((plan, applied))
    }

    fn put(&mut self, file: CheckedFile, temporary: String, content: &'a [u8]) {
        self.journal.puts.push(Put {
            path: file.path,
            temporary,
            content: Fingerprint::of(content),
        });
        self.puts.push(Staging {
            content,
            missing: file.missing,
            old: file.old,
        });
    }

    fn overwrite(&mut self, path: PackagePath, old: &Meta, content: &'a [u8]) {
        self.journal.overwrites.push(Overwrite {
            path,
            old: old.stamp(),
            content: Fingerprint::of(content),
        });
        self.contents.push(content);
    }

    /// Lists the directories to be made, none of which may be a file of the same set.
    fn check_directories(&mut self, files: &HashSet<PackagePath>) -> Result<(), ApplyError> {
        let mut known = HashSet::new();
        for (put, staging) in self.journal.puts.iter().zip(&self.puts) {
            let depth = put.path.directories().len();
            for count in depth - staging.missing + 1..=depth {
                let Some(directory) = put.path.ancestor(count) else {
                    continue;
                };
                if files.contains(&directory) {
                    return Err(ApplyError::Path {
                        path: put.path.show(),
                        source: PathError::NotADirectory(directory.show()),
                    });
                }
                if known.insert(directory.clone()) {
                    self.journal.directories.push(directory);
                }
            }
        }
        Ok(())
    }

    /// Whether nothing has to be changed.
    pub(super) fn is_empty(&self) -> bool {
        let journal = &self.journal;
        journal.puts.is_empty() && journal.overwrites.is_empty() && journal.deletes.is_empty()
    }
}

/// The file of a change as it is on the disk.
struct CheckedFile {
    /// Links of a file to write are resolved.
    path: PackagePath,
    /// How many of the directories around it do not exist.
    missing: usize,
    old: Option<Meta>,
    /// Whether it has the wanted content, or does not exist, already.
    is_done: bool,
}

impl CheckedFile {
    fn new(walker: &mut Walker<'_>, change: &FileChange) -> Result<CheckedFile, PathError> {
        let path = PackagePath::new(&change.path)?;
        match &change.action {
            FileAction::Write(content) => {
                let place = walker.place(path)?;
                let is_done = has_content(&place, content)?;
                Ok(CheckedFile {
                    path: place.path,
                    missing: place.missing,
                    old: place.old,
                    is_done,
                })
            }
            FileAction::Delete => Ok(CheckedFile {
                is_done: !is_deletable(walker, &path)?,
                path,
                missing: 0,
                old: None,
            }),
        }
    }
}

/// Whether the file exists with this very content. A file that may not be written is an error if it differs.
fn has_content(place: &ResolvedPath, content: &[u8]) -> io::Result<bool> {
    let Some(old) = place.old else {
        return Ok(false);
    };
    if old.size == content.len() as u64 && place.dir.read(place.path.name())? == content {
        return Ok(true);
    }
    // A rename would replace a read-only file.
    place.dir.check_writable(place.path.name())?;
    Ok(false)
}

/// Whether there is a file, or a link, to delete.
fn is_deletable(walker: &mut Walker<'_>, path: &PackagePath) -> Result<bool, PathError> {
    let dir = match walker.directory(path.directories()) {
        Ok(dir) => dir,
        Err(PathError::Io(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    match dir.meta(path.name())?.map(|meta| meta.kind) {
        None => Ok(false),
        Some(EntryType::Directory) => Err(PathError::IsDirectory(path.show())),
        Some(_) => {
            // It must be known before other files are changed.
            dir.check_writable(".")?;
            Ok(true)
        }
    }
}
