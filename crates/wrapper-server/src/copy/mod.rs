//! `cp -a SOURCE… DIRECTORY`, for an image without other programs: init containers run it.
//!
//! Copies files, directories and symbolic links with their permissions, and with their owners where that is permitted.
//! An existing file is replaced, not written into: it may be running. Nothing else of `cp` is here.

use std::fs::{self, Metadata, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Copies the files in the arguments.
pub(crate) fn main(arguments: impl Iterator<Item = String>) -> ExitCode {
    let arguments: Vec<String> = arguments.collect();
    let copied = match arguments.as_slice() {
        [flag, sources @ .., to] if flag == "-a" && !sources.is_empty() => {
            let to = Path::new(to);
            sources
                .iter()
                .try_for_each(|from| copy(from, to, sources.len()))
        }
        _ => Err("usage: cp -a SOURCE... DESTINATION".to_owned()),
    };
    match copied {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            let _ = writeln!(io::stderr(), "cp: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Like `cp`: into an existing directory, otherwise to the given name; `SOURCE/.` is the contents of `SOURCE`.
fn copy(from: &str, to: &Path, sources: usize) -> Result<(), String> {
    let contents_only = from.ends_with("/.") || from == ".";
    let from = Path::new(from);
    if !to.is_dir() && sources > 1 {
        return Err(format!("{} is not a directory", to.display()));
    }
    let to = match from.file_name() {
        Some(name) if to.is_dir() && !contents_only => to.join(name),
        _ => to.to_owned(),
    };
    copy_tree(from, &to)
}

fn copy_tree(from: &Path, to: &Path) -> Result<(), String> {
    let mut open = vec![(from.to_owned(), to.to_owned())];
    // A read-only directory gets its permissions when everything is in it.
    let mut directories: Vec<(PathBuf, Metadata)> = Vec::new();
    while let Some((from, to)) = open.pop() {
        let failed = |error: io::Error| {
            format!(
                "cannot copy {} to {}: {error}",
                from.display(),
                to.display()
            )
        };
        let metadata = fs::symlink_metadata(&from).map_err(failed)?;
        if metadata.is_dir() {
            for entry in fs::read_dir(&from).map_err(failed)? {
                let entry = entry.map_err(failed)?;
                open.push((entry.path(), to.join(entry.file_name())));
            }
            if !to.is_dir() {
                fs::create_dir(&to).map_err(failed)?;
                directories.push((to, metadata));
            }
        } else {
            copy_leaf(&from, &to, &metadata).map_err(failed)?;
        }
    }
    for (directory, metadata) in directories.iter().rev() {
        let kept = keep(directory, metadata);
        kept.map_err(|error| format!("cannot finish {}: {error}", directory.display()))?;
    }
    Ok(())
}

fn copy_leaf(from: &Path, to: &Path, metadata: &Metadata) -> io::Result<()> {
    match fs::remove_file(to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    if metadata.is_symlink() {
        symlink(fs::read_link(from)?, to)?;
        return own(to, metadata);
    }
    if !metadata.is_file() {
        let message = "it is neither a file, nor a directory, nor a link";
        return Err(io::Error::new(io::ErrorKind::Unsupported, message));
    }
    fs::copy(from, to)?;
    keep(to, metadata)
}

/// Gives a copy the owner and the permissions of its original, in this order: a new owner clears some of them.
fn keep(to: &Path, metadata: &Metadata) -> io::Result<()> {
    own(to, metadata)?;
    fs::set_permissions(to, Permissions::from_mode(metadata.mode() & 0o7777))
}

/// Only root may change owners; other users keep their files.
fn own(to: &Path, metadata: &Metadata) -> io::Result<()> {
    match lchown(to, Some(metadata.uid()), Some(metadata.gid())) {
        Err(error) if error.kind() != io::ErrorKind::PermissionDenied => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
