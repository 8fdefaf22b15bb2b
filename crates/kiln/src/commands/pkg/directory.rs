//! Packages on disk: their absolute paths, and writing what has changed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use kiln_krm::package::{FileAction, FileChange};
use kiln_package::ApplyOptions;
use kiln_task::{Contents, FileMode, PackagePath};

use crate::compat::Compat;
use crate::package::{self, absolute, resolve_as_named};
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
        if ui.compat() == Compat::Kiln && self.read()? != *before {
            bail!(
                "{} was changed by another process meanwhile; nothing was written, run the command again",
                self.shown
            );
        }
        let changes = changes(before, after);
        let options = ApplyOptions::default();
        package::write::write(ui, &self.path, None, &changes, options)?;
        self.set_modes(before, after)?;
        self.remove_emptied(&changes, after);
        Ok(())
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
