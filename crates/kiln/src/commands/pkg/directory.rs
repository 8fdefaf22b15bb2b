//! Packages on disk: their absolute paths, and writing what has changed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use kiln_krm::package::{FileAction, FileChange};
use kiln_package::ApplyOptions;
use kiln_task::{Contents, FileMode, PackagePath};

use crate::compat::Compat;
use crate::interrupt;
use crate::package::{self, absolute, resolve_as_named};
use crate::report::changes::name as file_name;
use crate::rpkg::directory::read;
use crate::ui::Ui;

/// The directory of a package.
pub(super) struct PackageDirectory {
    pub(super) path: PathBuf,
    /// The path in messages.
    pub(super) shown: String,
    /// The last part of the path.
    pub(super) name: String,
}

impl PackageDirectory {
    /// The directory of an argument, with links resolved.
    pub(super) fn resolve(ui: &Ui, named: &str) -> Result<PackageDirectory> {
        let resolved = resolve_as_named(ui, if named.is_empty() { "." } else { named })?;
        PackageDirectory::at(&resolved)
    }

    pub(super) fn at(named: &str) -> Result<PackageDirectory> {
        let path = absolute(named)?;
        let shown = path.display().to_string();
        let name = path
            .file_name()
            .map_or_else(|| shown.clone(), |name| name.to_string_lossy().into_owned());
        Ok(PackageDirectory { path, shown, name })
    }

    pub(super) fn read(&self) -> Result<Contents> {
        read(&self.path)
    }

    /// Writes the changes between two states of the package, at once or not at all. Nothing is written if the package has
    /// changed since it was read.
    pub(super) fn write(&self, ui: &Ui, before: &Contents, after: &Contents) -> Result<()> {
        interrupt::check()?;
        if ui.compat() == Compat::Kiln && self.read()? != *before {
            bail!(
                "{} was changed by another process meanwhile; nothing was written, run the command again",
                self.shown
            );
        }
        let changes = changes(before, after);
        let blocking = blocking_files(before, &changes);
        let (blocking, rest): (Vec<_>, Vec<_>) = changes
            .into_iter()
            .partition(|change| blocking.contains(&change.path));
        self.apply(ui, &blocking)?;
        self.remove_emptied(&blocking, after);
        let written = self.apply(ui, &rest);
        if let (Err(error), false) = (&written, blocking.is_empty()) {
            self.put_back(ui, before, &blocking)
                .with_context(|| format!("cannot restore files after a failure: {error:#}"))?;
        }
        written?;
        self.set_modes(before, after)?;
        self.remove_emptied(&rest, after);
        Ok(())
    }

    fn apply(&self, ui: &Ui, changes: &[FileChange]) -> Result<()> {
        match changes {
            [] => Ok(()),
            changes => {
                let options = ApplyOptions::default();
                package::write::write_to_the_end(ui, &self.path, None, changes, options)
            }
        }
    }

    /// Writes deleted files again.
    fn put_back(&self, ui: &Ui, before: &Contents, deleted: &[FileChange]) -> Result<()> {
        let mut restored = Contents::new();
        for FileChange { path, .. } in deleted {
            if let Some(file) = before.get(path) {
                restored.insert(PackagePath::new(path.as_str())?, file.clone())?;
            }
        }
        let nothing = Contents::new();
        self.apply(ui, &changes(&nothing, &restored))?;
        self.set_modes(&nothing, &restored)
    }

    /// Makes new and changed files executable, or no longer so.
    pub(super) fn set_modes(&self, before: &Contents, after: &Contents) -> Result<()> {
        for (path, file) in after.iter() {
            let was = before
                .get(path.as_str())
                .map_or(FileMode::Regular, |file| file.mode);
            if file.mode != was && file.mode != FileMode::Symlink {
                let path = self.path.join(path.as_str());
                set_executable(&path, file.mode == FileMode::Executable)
                    .with_context(|| format!("cannot change the mode of {}", path.display()))?;
            }
        }
        Ok(())
    }

    /// Removes directories that have lost their last file.
    fn remove_emptied(&self, changes: &[FileChange], after: &Contents) {
        let mut kept: BTreeSet<&str> = BTreeSet::new();
        for path in after.paths() {
            kept.extend(parents(path.as_str()));
        }
        let deleted = changes
            .iter()
            .filter(|change| change.action == FileAction::Delete);
        let emptied: BTreeSet<&str> = deleted
            .flat_map(|change| parents(&change.path))
            .filter(|directory| !kept.contains(directory))
            .collect();
        // Inner directories first. One with a file that is not part of the package stays.
        for directory in emptied.iter().rev() {
            let _ = fs::remove_dir(self.path.join(directory));
        }
    }
}

/// The files to delete that are in the way of others: a file that becomes a directory, and those in a directory that becomes a file.
/// They are deleted first, because a transaction writes before it deletes. If kiln is killed in between, the same update does the rest: a
/// file that is deleted on both sides is no conflict.
fn blocking_files(before: &Contents, changes: &[FileChange]) -> BTreeSet<String> {
    let is_write = |change: &&FileChange| matches!(change.action, FileAction::Write(_));
    let written: BTreeSet<&str> = changes
        .iter()
        .filter(is_write)
        .map(|change| change.path.as_str())
        .collect();
    let new_directories: BTreeSet<&str> = written.iter().flat_map(|path| parents(path)).collect();
    let is_blocking = |path: &str| {
        let is_link = before.get(path).is_none_or(|file| is_link(file.mode));
        let is_replaced = new_directories.contains(path);
        !is_link && (is_replaced || parents(path).any(|directory| written.contains(directory)))
    };
    changes
        .iter()
        .filter(|change| change.action == FileAction::Delete && is_blocking(&change.path))
        .map(|change| change.path.clone())
        .collect()
}

/// The directories around a path.
fn parents(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').filter_map(|(at, _)| path.get(..at))
}

/// The changes from one state to another.
pub(super) fn changes(before: &Contents, after: &Contents) -> Vec<FileChange> {
    let paths: BTreeSet<&PackagePath> = before.paths().chain(after.paths()).collect();
    let mut changes = Vec::new();
    for path in paths {
        let (old, new) = (before.get(path.as_str()), after.get(path.as_str()));
        let action = match new {
            Some(new) if old.is_none_or(|old| old.bytes != new.bytes || is_link(old.mode)) => {
                // A link that is new cannot be: packages are fetched without.
                if is_link(new.mode) {
                    continue;
                }
                FileAction::Write(new.bytes.to_vec())
            }
            Some(_) => continue,
            None => FileAction::Delete,
        };
        changes.push(FileChange {
            path: path.to_string(),
            action,
        });
    }
    changes
}

/// The files of the changes, and those that only become executable, or no longer are.
pub(super) fn changed_files(
    before: &Contents,
    after: &Contents,
    changes: &[FileChange],
) -> Vec<String> {
    let mut files: Vec<String> = changes.iter().map(file_name).collect();
    for (path, new) in after.iter() {
        let old = before.get(path.as_str());
        let is_only_mode = old.is_some_and(|old| old.bytes == new.bytes && old.mode != new.mode);
        if is_only_mode && !files.iter().any(|file| file == path.as_str()) {
            files.push(format!("{path} (mode)"));
        }
    }
    files.sort();
    files
}

fn is_link(mode: FileMode) -> bool {
    mode == FileMode::Symlink
}

/// Sets the bits that allow execution to those that allow reading, or clears them.
fn set_executable(path: &Path, executable: bool) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;

    let mut permissions = fs::metadata(path)?.permissions();
    let mode = permissions.mode();
    permissions.set_mode(match executable {
        true => mode | ((mode & 0o444) >> 2),
        false => mode & !0o111,
    });
    fs::set_permissions(path, permissions)
}
