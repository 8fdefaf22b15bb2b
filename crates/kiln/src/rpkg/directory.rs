//! The files of a revision in a local directory.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use kiln_task::git::{DEFAULT_MAX_PACKAGE_SIZE, ReadPackageError};
use kiln_task::{Contents, FileMode, PackageFile, PackagePath};

use crate::error::CommandError;

/// Writes contents into a new directory. It appears with all files in it, because pushing a part of a package would delete the
/// rest.
pub(crate) fn write(contents: &Contents, directory: &Path) -> Result<()> {
    let exists = fs::symlink_metadata(directory).is_ok();
    let Some(name) = directory.file_name().filter(|_| !exists) else {
        bail!(
            "directory {:?} already exists, please delete the directory and retry",
            directory
        );
    };
    let own = format!("{}{}", temporary_prefix(name), std::process::id());
    let temporary = directory.with_file_name(own);
    let cannot_create = || format!("cannot create {}", directory.display());
    remove_leftovers(directory);
    create_directory(&temporary).with_context(cannot_create)?;
    let written = write_files(contents, &temporary)
        .and_then(|()| fs::rename(&temporary, directory).with_context(cannot_create));
    if written.is_err() {
        // The first error matters more than leftovers.
        let _ = fs::remove_dir_all(&temporary);
    }
    written
}

/// The beginning of the names of temporary directories. The id of the process follows.
fn temporary_prefix(name: &OsStr) -> String {
    format!(".{}.kiln-", name.display())
}

/// Removes the temporary directories of killed commands. A process that is alive may still be writing.
fn remove_leftovers(directory: &Path) {
    let Some(name) = directory.file_name() else {
        return;
    };
    let parent = match directory.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let prefix = temporary_prefix(name);
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(&prefix));
        let process = process.and_then(|process| process.parse().ok());
        if process.is_some_and(|process| !is_alive(process)) {
            // Leftovers do no harm.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(unix)]
fn is_alive(process: i32) -> bool {
    use rustix::process::{Pid, test_kill_process};

    let Some(pid) = Pid::from_raw(process).filter(|_| process > 0) else {
        return false;
    };
    // A process of another user is alive too.
    !matches!(test_kill_process(pid), Err(rustix::io::Errno::SRCH))
}

#[cfg(not(unix))]
fn is_alive(_: i32) -> bool {
    true
}

fn write_files(contents: &Contents, directory: &Path) -> Result<()> {
    // Links last, so that nothing is ever written through one.
    let (links, files): (Vec<_>, Vec<_>) = contents
        .iter()
        .partition(|(_, file)| file.mode == FileMode::Symlink);
    for (path, file) in files.into_iter().chain(links) {
        let target = directory.join(path.as_str());
        if let Some(parent) = target.parent() {
            create_directory(parent)
                .with_context(|| format!("cannot create the directory of {path}"))?;
        }
        write_file(&target, file).with_context(|| format!("cannot write {path}"))?;
    }
    Ok(())
}

#[cfg(unix)]
fn create_directory(directory: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;

    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(directory)
}

#[cfg(not(unix))]
fn create_directory(directory: &Path) -> std::io::Result<()> {
    fs::create_dir_all(directory)
}

#[cfg(unix)]
fn write_file(path: &Path, file: &PackageFile) -> std::io::Result<()> {
    use std::io::Write;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::OpenOptionsExt;

    let mode = match file.mode {
        // Less the umask.
        FileMode::Regular => 0o644,
        FileMode::Executable => 0o755,
        FileMode::Symlink => {
            let target = std::ffi::OsStr::from_bytes(&file.bytes);
            return std::os::unix::fs::symlink(target, path);
        }
    };
    let mut options = fs::OpenOptions::new();
    let mut new = options.write(true).create_new(true).mode(mode).open(path)?;
    new.write_all(&file.bytes)
}

#[cfg(not(unix))]
fn write_file(path: &Path, file: &PackageFile) -> std::io::Result<()> {
    fs::write(path, &file.bytes)
}

/// Reads all files of a directory except `.git`, up to the size limit of packages.
pub(crate) fn read(directory: &Path) -> Result<Contents> {
    let limit = DEFAULT_MAX_PACKAGE_SIZE;
    let mut left = limit;
    let mut contents = Contents::new();
    let mut pending = vec![String::new()];
    while let Some(inner) = pending.pop() {
        let outer = directory.join(&inner);
        let entries = fs::read_dir(&outer).map_err(|error| unreadable(&outer, error))?;
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                bail!("{} has a name that is not UTF-8", entry.path().display());
            };
            if name == ".git" {
                continue;
            }
            let path = match inner.as_str() {
                "" => name.to_owned(),
                inner => format!("{inner}/{name}"),
            };
            let metadata = fs::symlink_metadata(entry.path())?;
            if metadata.is_dir() {
                pending.push(path);
                continue;
            }
            if metadata.is_file() {
                let rest = left.checked_sub(metadata.len());
                left = rest.ok_or(ReadPackageError::TooLarge { limit })?;
            }
            let file = read_file(&entry.path(), &metadata);
            let file = file.with_context(|| format!("cannot read {}", entry.path().display()))?;
            if let Some(file) = file {
                contents.insert(PackagePath::new(path)?, file)?;
            }
        }
    }
    Ok(contents)
}

fn unreadable(directory: &Path, error: std::io::Error) -> anyhow::Error {
    let is_missing = error.kind() == std::io::ErrorKind::NotFound;
    let error = anyhow::Error::from(error).context(format!("cannot read {}", directory.display()));
    match is_missing {
        true => {
            let hint = "run `kiln rpkg pull` to create the directory, or pass - to read a ResourceList from standard input";
            CommandError::with_hint(error, hint).into()
        }
        false => error,
    }
}

/// Reads a file or a symbolic link; `None` for anything else.
fn read_file(path: &Path, metadata: &fs::Metadata) -> std::io::Result<Option<PackageFile>> {
    if metadata.is_symlink() {
        let target = fs::read_link(path)?;
        return Ok(Some(PackageFile {
            bytes: target.as_os_str().as_encoded_bytes().into(),
            mode: FileMode::Symlink,
        }));
    }
    if !metadata.is_file() {
        return Ok(None);
    }
    Ok(Some(PackageFile {
        bytes: fs::read(path)?.into(),
        mode: mode(metadata),
    }))
}

#[cfg(unix)]
fn mode(metadata: &fs::Metadata) -> FileMode {
    use std::os::unix::fs::PermissionsExt;

    match metadata.permissions().mode() & 0o100 {
        0 => FileMode::Regular,
        _ => FileMode::Executable,
    }
}

#[cfg(not(unix))]
fn mode(_: &fs::Metadata) -> FileMode {
    FileMode::Regular
}
