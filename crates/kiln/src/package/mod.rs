//! Packages on disk: finding, reading and writing them, and errors about them.

pub(crate) mod changed_since;
pub(crate) mod destination;
pub(crate) mod legacy_version;
mod location;
mod outside_links;
pub(crate) mod root_packages;
pub(crate) mod write;

use std::path::Path;

use anyhow::{Context, Error, Result, anyhow};
use kiln_krm::kptfile::{FILE_NAME, Kptfile};
use kiln_krm::package::{
    EntryKind, FileAction, FileChange, FileError, FileSource, ListOptions, PackageFile, WriteError,
    list_package_files,
};
use kiln_krm::read::{FileOptions, TrailingText, read_input_with};
use kiln_krm::{Dialect, Resource, ResourceList, paths};
use kiln_package::{Access, DiskFiles, JOURNAL, Lock, read_files, recover};

use crate::compat::Compat;
use crate::error::package::{file_error, list_error, stdin_error};
use crate::error::render::kptfile_error;
use crate::ui::Ui;

pub(crate) use location::{Location, absolute, package_directory, resolve_as_named};

/// Reads the resources at a location, under a lock that excludes other kiln commands that write.
pub(crate) fn read(ui: &Ui, location: &Location, list: &ListOptions) -> Result<Vec<Resource>> {
    read_as(ui, location, list, ui.compat().dialect()).map(|(resources, _)| resources)
}

/// The same in a given dialect. The returned files know whether they have changed since.
pub(crate) fn read_as(
    ui: &Ui,
    location: &Location,
    list: &ListOptions,
    dialect: Dialect,
) -> Result<(Vec<Resource>, DiskFiles)> {
    read_without(ui, location, list, dialect, Vec::new())
}

/// The same without the files in `hidden`.
pub(crate) fn read_without(
    ui: &Ui,
    location: &Location,
    list: &ListOptions,
    dialect: Dialect,
    hidden: Vec<String>,
) -> Result<(Vec<Resource>, DiskFiles)> {
    let lock = lock(ui, location.root(), Access::Read)?;
    let files = DiskFiles::open(location.root(), ui.compat().outside_links())
        .with_context(|| format!("cannot open {}", location.root().display()))?
        .without(hidden);
    let wanted = match location.file() {
        Some(name) if list.wants(name) => vec![name.to_owned()],
        Some(_) => Vec::new(),
        None => list_package_files(&files, list)
            .map_err(|error| list_error(location, &error))?
            .into_iter()
            .map(|PackageFile { path, .. }| path)
            .collect(),
    };
    let options = FileOptions {
        dialect,
        package_path: None,
        trailing_text: trailing_text(ui.compat()),
    };
    let resources = read_files(&files, &wanted, &options)
        .map_err(|error| file_error(ui.compat(), location, &error))?;
    drop(lock);
    Ok((resources, files))
}

/// Refuses to overwrite files that another process changed after they were read, unless they have the new content already. kpt does
/// not check.
pub(crate) fn check_unchanged(ui: &Ui, files: &DiskFiles, changes: &[FileChange]) -> Result<()> {
    if ui.compat() != Compat::Kiln {
        return Ok(());
    }
    let Some(path) = files.changed_since_read() else {
        return Ok(());
    };
    let is_made = |change: &FileChange| match (&change.action, files.read(&change.path)) {
        (FileAction::Write(wanted), Ok(found)) => found == *wanted,
        (FileAction::Delete, Err(FileError::NotFound(_))) => true,
        _ => false,
    };
    match !path.is_empty() && changes.iter().all(is_made) {
        true => Ok(()),
        false => Err(changed_meanwhile(files, &path)),
    }
}

/// Refuses to use resources that were read while another process changed the package: they may be a mix of old and new ones.
/// kpt does not check.
pub(crate) fn check_read_at_once(ui: &Ui, files: &DiskFiles) -> Result<()> {
    match (ui.compat(), files.changed_since_read()) {
        (Compat::Kiln, Some(path)) => Err(changed_meanwhile(files, &path)),
        _ => Ok(()),
    }
}

/// The error of a write, unless another process changed the package, which explains it.
pub(crate) fn unless_changed(ui: &Ui, files: &DiskFiles, error: WriteError) -> Error {
    match check_read_at_once(ui, files) {
        Err(changed) => changed,
        Ok(()) => error.into(),
    }
}

fn changed_meanwhile(files: &DiskFiles, path: &str) -> Error {
    match path {
        "" => anyhow!(
            "{} was moved or removed while functions ran; nothing was written",
            files.root().display()
        ),
        path => anyhow!(
            "{path} was changed by another process while functions ran; nothing was written, run the command again"
        ),
    }
}

/// Parses standard input.
pub(crate) fn input(ui: &Ui, bytes: Vec<u8>, dialect: Dialect) -> Result<ResourceList> {
    read_input_with(bytes, dialect, trailing_text(ui.compat()))
        .map_err(|error| stdin_error(ui.compat(), &error))
}

/// kpt loses text below a document; kiln refuses it.
fn trailing_text(compat: Compat) -> TrailingText {
    match compat {
        Compat::Kiln => TrailingText::Refused,
        Compat::Kpt | Compat::KptV039 => TrailingText::Ignored,
    }
}

/// The Kptfiles of a package and its sub-packages, each with the directory of its package, parents first. Those that cannot
/// be read are left out.
pub(crate) fn kptfiles(files: &dyn FileSource) -> Vec<(String, Kptfile)> {
    let read = read_kptfiles(files).into_iter();
    read.filter_map(|(directory, bytes)| Some((directory, Kptfile::read(&bytes).ok()?)))
        .collect()
}

/// The same for commands that must know all functions: a Kptfile that is not valid, or a package without one, is an error.
/// `named` is the package in messages.
pub(crate) fn checked_kptfiles(
    files: &dyn FileSource,
    named: &str,
) -> Result<Vec<(String, Kptfile)>> {
    files
        .read(FILE_NAME)
        .map_err(|error| anyhow!("cannot read {FILE_NAME}: {error}"))?;
    let read = read_kptfiles(files).into_iter();
    read.map(|(directory, bytes)| {
        let kptfile = Kptfile::read(&bytes)
            .map_err(|problem| kptfile_error(files, named, &directory, problem))?;
        Ok((directory, kptfile))
    })
    .collect()
}

/// The content of all Kptfiles, each with the directory of its package, parents first.
fn read_kptfiles(files: &dyn FileSource) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut pending = vec![String::new()];
    while let Some(directory) = pending.pop() {
        let kptfile = files.read(&paths::join(&[&directory, FILE_NAME])).ok();
        found.extend(kptfile.map(|kptfile| (directory.clone(), kptfile)));
        let entries = files.list(&directory).unwrap_or_default().into_iter();
        let mut inner: Vec<String> = entries
            .filter(|entry| entry.kind == EntryKind::Directory && entry.name != ".git")
            .map(|entry| paths::join(&[&directory, &entry.name]))
            .collect();
        inner.sort_by(|one, other| other.cmp(one));
        pending.append(&mut inner);
    }
    found
}

/// Locks a package against other kiln commands, and first recovers it if one was interrupted.
pub(crate) fn lock(ui: &Ui, root: &Path, access: Access) -> Result<Lock> {
    let waiting = || {
        ui.print_message(&format!(
            "waiting for another kiln command on {}",
            root.display()
        ));
    };
    let failed = || format!("cannot lock {}", root.display());
    let lock = Lock::acquire(root, access, waiting).with_context(failed)?;
    if root.join(JOURNAL).symlink_metadata().is_ok() {
        lock.change(Access::Write, waiting).with_context(failed)?;
        if let Some(recovery) = recover(root).map_err(Error::new)? {
            ui.print_message(&format!("{}: {recovery}", root.display()));
        }
        lock.change(access, waiting).with_context(failed)?;
    }
    Ok(lock)
}
