//! Writing resources to packages on disk.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use kiln_go::errno_text;
use kiln_krm::package::{Bytes, EmptiedFiles, FileChange, ReadSet, WriteOptions, plan_write};
use kiln_package::{
    Access, ApplyError, ApplyOptions, DiskFiles, Durability, OutsideLinks, apply, available_threads,
};

use crate::interrupt;
use crate::ui::Ui;

/// Refuses a directory that exists.
pub(crate) fn check_absent(ui: &Ui, dir: &str) -> Result<()> {
    let path = Path::new(dir);
    match path.metadata() {
        Ok(metadata) => {
            if metadata.is_dir() {
                // Locking recovers a directory that a killed command left; it may be gone then.
                super::lock(ui, path, Access::Read)?;
            }
            bail!("directory {dir:?} already exists, please delete the directory and retry");
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => bail!("stat {dir}: {}", errno_text(&error)),
    }
}

/// Creates a directory and writes files to it.
pub(crate) fn write_new_directory(
    ui: &Ui,
    dir: &str,
    changes: &[FileChange],
    durability: Durability,
) -> Result<()> {
    let path = Path::new(dir);
    let made = make_directories(path)
        .with_context(|| format!("failed to create output directory {dir:?}"))?;
    let options = ApplyOptions {
        durability,
        ..ApplyOptions::default()
    };
    let written = write(ui, path, None, changes, options);
    if written.is_err() {
        // A directory that is not empty stays, because it may contain a journal.
        for directory in made.iter().rev() {
            let _ = std::fs::remove_dir(directory);
        }
    }
    written
}

/// The files for the resources of a list.
pub(crate) fn plan_list(ui: &Ui, dir: &str, input: Vec<u8>) -> Result<Vec<FileChange>> {
    let dialect = ui.compat().dialect();
    let list = super::input(ui, input, dialect)?;
    let options = WriteOptions {
        dialect,
        bytes: Bytes::Reencode,
        emptied_files: EmptiedFiles::Leave,
        package: dir.to_owned(),
        threads: available_threads(),
    };
    Ok(plan_write(list.items, &ReadSet::default(), &options)?)
}

/// Applies the changes, unless kiln was interrupted, or the files in `read`, from which they were planned, have changed.
/// Messages that kpt has are kpt's.
pub(crate) fn write(
    ui: &Ui,
    root: &Path,
    read: Option<&DiskFiles>,
    changes: &[FileChange],
    options: ApplyOptions,
) -> Result<()> {
    interrupt::check()?;
    write_to_the_end(ui, root, read, changes, options)
}

/// The same for changes that must not stop halfway: an interrupt is ignored.
pub(crate) fn write_to_the_end(
    ui: &Ui,
    root: &Path,
    read: Option<&DiskFiles>,
    changes: &[FileChange],
    options: ApplyOptions,
) -> Result<()> {
    let lock = super::lock(ui, root, Access::Write);
    if let Some(read) = read {
        // Before the error of the lock, because a package that was removed cannot be locked either.
        super::check_unchanged(ui, read, changes)?;
    }
    let _lock = lock?;
    let applied = match ui.compat().outside_links() {
        OutsideLinks::Refuse => apply(root, changes, options),
        OutsideLinks::Follow => {
            let (inside, outside) = super::outside_links::split(root, changes);
            let applied = apply(root, &inside, options);
            if applied.is_ok() {
                for write in outside {
                    write.perform(root)?;
                }
            }
            applied
        }
    };
    match applied {
        Ok(_) => Ok(()),
        Err(error @ ApplyError::IsDirectory { .. }) => Err(anyhow!("{error}")),
        Err(error) => Err(error.into()),
    }
}

/// Creates a directory and its missing parents with mode 0755 minus the umask. Returns the new ones.
pub(crate) fn make_directories(path: &Path) -> io::Result<Vec<PathBuf>> {
    use std::os::unix::fs::DirBuilderExt;
    let mut missing: Vec<&Path> = path
        .ancestors()
        .take_while(|ancestor| !ancestor.as_os_str().is_empty() && !ancestor.exists())
        .collect();
    missing.reverse();
    let mut made = Vec::new();
    for directory in missing {
        std::fs::DirBuilder::new().mode(0o755).create(directory)?;
        made.push(directory.to_owned());
    }
    Ok(made)
}
