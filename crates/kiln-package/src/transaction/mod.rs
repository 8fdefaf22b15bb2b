//! Changing many files of a package at once or not at all.
//!
//! New content is written to temporary files beside the files it is for, or, for small changes of small files
//! (`in_place` says which), to the journal. Only when all of it is complete are files renamed in or written over, and
//! files deleted after that. At every moment the journal in the package's root
//! records what [`recover`](crate::recover()) has to do if this process is killed: remove the temporary files, or do the
//! rest.
//!
//! What this does not do: keep extended attributes or hard links of files that are replaced, or an open reader's view of
//! the old file.

mod in_place;
mod plan;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use kiln_krm::package::FileChange;
use thiserror::Error;

use in_place::InPlace;
use plan::{Plan, Staging};

use crate::dir::{Dir, NewFile, Steps};
use crate::journal::{Journal, Overwrite, Put};
use crate::recover::{JOURNAL, undo};
use crate::tree::{PackagePath, PackageTree, PathError, Walker};

/// What a crash of the machine may undo.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Durability {
    /// Safe when the process is killed; a power cut may lose or damage what was just written.
    #[default]
    Fast,
    /// On the disk when [`apply`] returns, and whole or not at all after a power cut.
    Durable,
}

/// The permissions of files and directories that did not exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum NewFiles {
    /// 0666 and 0777 less the process' umask.
    #[default]
    Umask,
    /// 0600 and 0700: only for the owner.
    Private,
}

/// How [`apply`] writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ApplyOptions {
    /// What a crash of the machine may undo.
    pub durability: Durability,
    /// The permissions of new files.
    pub new_files: NewFiles,
}

/// What [`apply`] did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Applied {
    /// Files that have new content, as they were named in the changes.
    pub written: Vec<String>,
    /// Files that had the wanted content already and were not touched.
    pub unchanged: Vec<String>,
    pub deleted: Vec<String>,
}

impl Applied {
    /// Adds a link to a file that is part of this already.
    fn add_link(&mut self, path: &str, file: &str) {
        let is_written = self.written.iter().any(|written| written == file);
        let list = match is_written {
            true => &mut self.written,
            false => &mut self.unchanged,
        };
        list.push(path.to_owned());
    }
}

/// Why changes were not made.
#[derive(Debug, Error)]
pub enum ApplyError {
    /// The package itself cannot be opened.
    #[error("cannot open package {path}")]
    Open {
        /// The package as it was named.
        path: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A path cannot be written to. Nothing was changed.
    #[error("cannot write {path}")]
    Path {
        /// The path as it was given.
        path: String,
        source: PathError,
    },
    /// A path names a directory. Nothing was changed.
    #[error("config.kubernetes.io/path cannot be a directory: {path}")]
    IsDirectory {
        /// The path as it was given.
        path: String,
    },
    /// Two different changes of the same file, perhaps through a link. Nothing was changed.
    #[error(
        "cannot write {path}: it is the same file as {first}, which is to be changed in another way; \
         name one of the two in .krmignore, or make it a file of its own"
    )]
    Twice {
        /// The later of the two.
        path: String,
        first: String,
    },
    /// A file could not be written. Nothing was changed.
    #[error("cannot write {path}; nothing was changed")]
    Stage {
        path: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// All content was written, but not all of it could be put in place.
    #[error("cannot replace {path}; the next kiln command on this package will try to finish")]
    Unfinished {
        path: String,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// Makes all changes to the package at `root`, or none.
///
/// [`recover`](crate::recover()) must have been called, and a lock be held, if other kiln commands may use the package.
pub fn apply(
    root: &Path,
    changes: &[FileChange],
    options: ApplyOptions,
) -> Result<Applied, ApplyError> {
    apply_stepwise(root, changes, options, Steps::default())
}

pub(crate) fn apply_stepwise(
    root: &Path,
    changes: &[FileChange],
    options: ApplyOptions,
    steps: Steps,
) -> Result<Applied, ApplyError> {
    let open_error = |source| ApplyError::Open {
        path: root.display().to_string(),
        source,
    };
    let tree = PackageTree::open(root, steps).map_err(open_error)?;
    let own = tree.root().own_meta().map_err(open_error)?;
    let in_place = match options.durability {
        Durability::Fast => InPlace::on_file_system_of(tree.root(), &own),
        // After a power cut some blocks may be new and the journal be gone.
        Durability::Durable => InPlace::never(),
    };
    let (plan, applied) = Plan::new(&tree, changes, own.inode, &in_place)?;
    if !plan.is_empty() {
        Transaction {
            tree: &tree,
            plan: &plan,
            options,
        }
        .run()?;
    }
    Ok(applied)
}

/// A plan being carried out.
struct Transaction<'a> {
    tree: &'a PackageTree,
    plan: &'a Plan<'a>,
    options: ApplyOptions,
}

/// What failed, on which file.
struct FileFailure {
    path: String,
    source: io::Error,
}

impl Transaction<'_> {
    fn run(&self) -> Result<(), ApplyError> {
        let stage_error = |FileFailure { path, source }| ApplyError::Stage { path, source };
        // An existing journal belongs to another command and stays.
        let file = self
            .tree
            .root()
            .create(JOURNAL, 0o600)
            .map_err(|source| stage_error(failed(JOURNAL, source)))?;
        self.stage(file).map_err(|failure| {
            // If this fails as well, the journal stays and the next command does it.
            let _ = undo(self.tree, &self.plan.journal);
            stage_error(failure)
        })?;
        self.replace()
            .map_err(|FileFailure { path, source }| ApplyError::Unfinished { path, source })
    }

    /// Writes the journal and all temporary files.
    fn stage(&self, mut file: NewFile) -> Result<(), FileFailure> {
        let journal = &self.plan.journal;
        let plan = journal.plan();
        let on_journal = |source| failed(JOURNAL, source);
        file.write(plan.as_bytes()).map_err(on_journal)?;
        self.sync_file(&file).map_err(on_journal)?;
        self.sync_directories([&[][..]])?;

        let mode = match self.options.new_files {
            NewFiles::Umask => 0o777,
            NewFiles::Private => 0o700,
        };
        let walker = &mut self.tree.walker();
        for path in &journal.directories {
            directory_of(walker, path)
                .and_then(|parent| parent.make_dir(path.name(), mode))
                .map_err(|source| failed(&path.show(), source))?;
        }
        for (put, staging) in journal.puts.iter().zip(&self.plan.puts) {
            self.stage_one(walker, put, staging)
                .map_err(|source| failed(&put.path.show(), source))?;
        }
        let puts = journal.puts.iter().map(|put| &put.path);
        self.sync_directories(
            puts.chain(&journal.directories)
                .map(PackagePath::directories),
        )?;
        // With one file to replace, its rename is the point of no return.
        if !journal.is_single() {
            let mut rest = self.plan.contents.concat();
            rest.extend_from_slice(Journal::commit(&plan).as_bytes());
            file.write(&rest).map_err(on_journal)?;
            self.sync_file(&file).map_err(on_journal)?;
        }
        Ok(())
    }

    fn stage_one(
        &self,
        walker: &mut Walker<'_>,
        put: &Put,
        staging: &Staging<'_>,
    ) -> io::Result<()> {
        let dir = directory_of(walker, &put.path)?;
        if staging.missing > 0 {
            // The directory is new, so the name was not checked before: it may be too long.
            dir.meta(put.path.name())?;
        }
        let mode = match self.options.new_files {
            NewFiles::Umask => 0o666,
            NewFiles::Private => 0o600,
        };
        let mut file = dir.create(&put.temporary, mode)?;
        file.write(staging.content)?;
        if let Some(old) = &staging.old {
            file.take_after(old)?;
        }
        self.sync_file(&file)
    }

    /// Puts everything in place and deletes the journal.
    fn replace(&self) -> Result<(), FileFailure> {
        let journal = &self.plan.journal;
        let walker = &mut self.tree.walker();
        for put in &journal.puts {
            directory_of(walker, &put.path)
                .and_then(|dir| dir.rename(&put.temporary, put.path.name()))
                .map_err(|source| failed(&put.path.show(), source))?;
        }
        self.overwrite()?;
        // New content must be safe before old content is deleted: a resource may have moved to another file.
        let puts = journal.puts.iter().map(|put| put.path.directories());
        self.sync_directories(puts)?;
        for path in &journal.deletes {
            directory_of(walker, path)
                .and_then(|dir| dir.remove(path.name()))
                .map_err(|source| failed(&path.show(), source))?;
        }
        self.sync_directories(journal.deletes.iter().map(PackagePath::directories))?;
        self.tree
            .root()
            .remove(JOURNAL)
            .map_err(|source| failed(JOURNAL, source))?;
        self.sync_directories([&[][..]])
    }

    /// Writes over files, in any order: the journal has all of their content.
    fn overwrite(&self) -> Result<(), FileFailure> {
        let overwrites = self.plan.journal.overwrites.iter();
        let files: Vec<_> = overwrites.zip(&self.plan.contents).collect();
        self.tree.try_map(&files, |walker, (file, content)| {
            let Overwrite { path, old, .. } = file;
            directory_of(walker, path)
                .and_then(|dir| dir.overwrite(path.name(), old, content))
                .map_err(|source| failed(&path.show(), source))
        })?;
        Ok(())
    }

    fn sync_file(&self, file: &NewFile) -> io::Result<()> {
        match self.options.durability {
            Durability::Fast => Ok(()),
            Durability::Durable => file.sync(),
        }
    }

    /// Makes the entries of these directories durable, each once.
    fn sync_directories<'p>(
        &self,
        directories: impl IntoIterator<Item = &'p [OsString]>,
    ) -> Result<(), FileFailure> {
        if self.options.durability == Durability::Fast {
            return Ok(());
        }
        let distinct: BTreeSet<&[OsString]> = directories.into_iter().collect();
        for components in distinct {
            let shown = || {
                let path: PathBuf = components.iter().collect();
                path.join(".").display().to_string()
            };
            self.tree
                .directory(components)
                .map_err(io::Error::other)
                .and_then(|dir| dir.sync())
                .map_err(|source| failed(&shown(), source))?;
        }
        Ok(())
    }
}

/// Opens the directory that a file is in.
fn directory_of(walker: &mut Walker<'_>, path: &PackagePath) -> io::Result<Dir> {
    match walker.directory(path.directories()) {
        Ok(dir) => Ok(dir),
        Err(PathError::Io(error)) => Err(error),
        Err(error) => Err(io::Error::other(error)),
    }
}

fn failed(path: &str, source: io::Error) -> FileFailure {
    FileFailure {
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests;
