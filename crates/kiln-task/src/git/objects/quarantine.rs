//! A temporary directory for objects that are being written, so that a failed git leaves nothing behind, least of all on a full
//! disk.
//!
//! It looks like one of git's own temporary directories, so `git gc` removes it if kiln is killed. When all objects are written,
//! they move to the repository.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::super::program::common_directory;

/// Makes the names of directories unique.
static COUNTER: AtomicU64 = AtomicU64::new(0);

/// The directory. It is removed when dropped.
pub(super) struct Quarantine {
    pub(super) path: PathBuf,
    /// The object directory of the repository.
    pub(super) objects: PathBuf,
}

impl Quarantine {
    pub(super) fn new(git_dir: &Path) -> io::Result<Quarantine> {
        let objects = common_directory(git_dir).join("objects");
        let count = COUNTER.fetch_add(1, Ordering::Relaxed);
        let path = objects.join(format!("tmp_objdir-kiln-{}-{count}", std::process::id()));
        fs::create_dir(&path)?;
        let quarantine = Quarantine { path, objects };
        fs::create_dir(quarantine.path.join("pack"))?;
        Ok(quarantine)
    }

    /// Moves all objects to the repository.
    pub(super) fn release(self) -> io::Result<()> {
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let target = self.objects.join(entry.file_name());
            if !entry.file_type()?.is_dir() {
                continue;
            }
            if !target.is_dir() {
                create_like(&target, &self.objects)?;
            }
            let mut files: Vec<PathBuf> = Vec::new();
            for file in fs::read_dir(entry.path())? {
                files.push(file?.path());
            }
            // A reader that finds the index of a pack must find the pack.
            files.sort_by_key(|file| file.extension().is_some_and(|end| end == "idx"));
            for file in files {
                let name = file.file_name().unwrap_or_default();
                fs::rename(&file, target.join(name))?;
            }
        }
        Ok(())
    }
}

impl Drop for Quarantine {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Whether a repository is a partial clone, which may lack objects.
pub(in crate::git) fn is_partial(git_dir: &Path) -> bool {
    let packs = fs::read_dir(common_directory(git_dir).join("objects").join("pack"));
    let mut packs = packs.into_iter().flatten().flatten();
    packs.any(|pack| pack.path().extension().is_some_and(|end| end == "promisor"))
}

/// Creates a directory with the permissions of another, because repositories can be shared.
fn create_like(directory: &Path, other: &Path) -> io::Result<()> {
    match fs::create_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        made => made?,
    }
    fs::set_permissions(directory, fs::metadata(other)?.permissions())
}
