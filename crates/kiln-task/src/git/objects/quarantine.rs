//! A place for objects that are being written, so that a git that fails leaves nothing behind: on a disk that is full that
//! would be just what fills it.
//!
//! It is a directory among git's own temporary ones, which `git gc` removes if we are killed. Objects move out of it when all
//! of them are there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::super::program::common_directory;

/// Tells places apart that are used at the same time.
static TURN: AtomicU64 = AtomicU64::new(0);

/// The place. It goes with everything in it when it is dropped.
pub(super) struct Quarantine {
    /// Where it is.
    pub(super) path: PathBuf,
    /// Where all other objects are.
    pub(super) objects: PathBuf,
}

impl Quarantine {
    /// A place in a repository, given by git's own directory.
    pub(super) fn new(git_dir: &Path) -> io::Result<Quarantine> {
        let objects = common_directory(git_dir).join("objects");
        let turn = TURN.fetch_add(1, Ordering::Relaxed);
        let path = objects.join(format!("tmp_objdir-kiln-{}-{turn}", std::process::id()));
        fs::create_dir(&path)?;
        let quarantine = Quarantine { path, objects };
        fs::create_dir(quarantine.path.join("pack"))?;
        Ok(quarantine)
    }

    /// Moves all objects to the others.
    pub(super) fn release(self) -> io::Result<()> {
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let target = self.objects.join(entry.file_name());
            if !entry.file_type()?.is_dir() {
                continue;
            }
            if !target.is_dir() {
                make_like(&target, &self.objects)?;
            }
            let mut files: Vec<PathBuf> = Vec::new();
            for file in fs::read_dir(entry.path())? {
                files.push(file?.path());
            }
            // Who finds the index of a pack wants to find the pack.
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

/// Whether a repository may lack objects that somebody else has: it is a partial clone.
pub(in crate::git) fn is_partial(git_dir: &Path) -> bool {
    let packs = fs::read_dir(common_directory(git_dir).join("objects").join("pack"));
    let mut packs = packs.into_iter().flatten().flatten();
    packs.any(|pack| pack.path().extension().is_some_and(|end| end == "promisor"))
}

/// A directory with the rights of another: repositories can be shared.
fn make_like(directory: &Path, other: &Path) -> io::Result<()> {
    match fs::create_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        made => made?,
    }
    fs::set_permissions(directory, fs::metadata(other)?.permissions())
}
