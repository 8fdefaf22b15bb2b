//! Contents in a directory.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use kiln_task::git::{DEFAULT_LARGEST_PACKAGE, ReadPackageError};
use kiln_task::{Contents, File, FileMode, PackagePath};

/// Writes contents into a directory that is not there yet. It comes to be with all files in it: who pushed a part of a
/// package would delete the rest.
pub(super) fn write(contents: &Contents, directory: &Path) -> Result<()> {
    let is_there = fs::symlink_metadata(directory).is_ok();
    let Some(name) = directory.file_name().filter(|_| !is_there) else {
        bail!(
            "directory {:?} already exists, please delete the directory and retry",
            directory
        );
    };
    let name = name.display();
    let beside = directory.with_file_name(format!(".{name}.kiln-{}", std::process::id()));
    let not_made = || format!("cannot make {}", directory.display());
    make(&beside).with_context(not_made)?;
    let written = write_files(contents, &beside)
        .and_then(|()| fs::rename(&beside, directory).with_context(not_made));
    if written.is_err() {
        // What is left of it is not worth another error.
        let _ = fs::remove_dir_all(&beside);
    }
    written
}

fn write_files(contents: &Contents, directory: &Path) -> Result<()> {
    // Links last, so that nothing is ever written through one.
    let (links, files): (Vec<_>, Vec<_>) = contents
        .iter()
        .partition(|(_, file)| file.mode == FileMode::Symlink);
    for (path, file) in files.into_iter().chain(links) {
        let place = directory.join(path.as_str());
        if let Some(parent) = place.parent() {
            make(parent).with_context(|| format!("cannot make the directory of {path}"))?;
        }
        write_file(&place, file).with_context(|| format!("cannot write {path}"))?;
    }
    Ok(())
}

#[cfg(unix)]
fn make(directory: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;

    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o750)
        .create(directory)
}

#[cfg(not(unix))]
fn make(directory: &Path) -> std::io::Result<()> {
    fs::create_dir_all(directory)
}

#[cfg(unix)]
fn write_file(place: &Path, file: &File) -> std::io::Result<()> {
    use std::io::Write;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::OpenOptionsExt;

    let mode = match file.mode {
        FileMode::Regular => 0o600,
        FileMode::Executable => 0o700,
        FileMode::Symlink => {
            let target = std::ffi::OsStr::from_bytes(&file.bytes);
            return std::os::unix::fs::symlink(target, place);
        }
    };
    let mut options = fs::OpenOptions::new();
    let mut new = options
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(place)?;
    new.write_all(&file.bytes)
}

#[cfg(not(unix))]
fn write_file(place: &Path, file: &File) -> std::io::Result<()> {
    fs::write(place, &file.bytes)
}

/// Reads all files of a directory but git's own. More than a package may have is not read.
pub(super) fn read(directory: &Path) -> Result<Contents> {
    let limit = DEFAULT_LARGEST_PACKAGE;
    let mut left = limit;
    let mut contents = Contents::new();
    let mut pending = vec![String::new()];
    while let Some(inner) = pending.pop() {
        let place = directory.join(&inner);
        let entries = fs::read_dir(&place);
        let entries = entries.with_context(|| format!("cannot read {}", place.display()))?;
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

/// A file; none if it is neither a file nor a link.
fn read_file(place: &Path, metadata: &fs::Metadata) -> std::io::Result<Option<File>> {
    if metadata.is_symlink() {
        let target = fs::read_link(place)?;
        return Ok(Some(File {
            bytes: target.as_os_str().as_encoded_bytes().into(),
            mode: FileMode::Symlink,
        }));
    }
    if !metadata.is_file() {
        return Ok(None);
    }
    Ok(Some(File {
        bytes: fs::read(place)?.into(),
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
