//! Git's index, locked as git locks it, and a copy of it to work on.
//!
//! There are two locks. The first is a lock of the operating system on a file of kiln's: it excludes other kiln processes and
//! vanishes when its owner dies. The second is git's `index.lock`, a hard link to the same file. A process that holds the first
//! lock and finds that the second is a link to its file knows that the previous owner is dead.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often kiln tries to get git's lock, which git itself holds only briefly.
const TRIES: usize = 100;
const PAUSE: Duration = Duration::from_millis(50);

/// Both locks, until it is dropped.
pub(super) struct IndexLock {
    git_dir: PathBuf,
    _file: File,
}

/// The name of kiln's lock file.
const LOCK_FILE: &str = "kiln-lock";

impl IndexLock {
    /// Waits for both locks. The error is a message.
    pub(super) fn take(git_dir: &Path) -> Result<IndexLock, String> {
        let file = own_lock(&git_dir.join(LOCK_FILE), |file| file.lock().map(|()| true));
        match file.map_err(|error| error.to_string())? {
            Some(file) => IndexLock::take_gits(git_dir, file, TRIES),
            None => Err("it cannot be locked".to_owned()),
        }
    }

    /// Takes both locks; `None` if another kiln process holds them.
    pub(super) fn try_take(git_dir: &Path) -> Result<Option<IndexLock>, String> {
        let file = own_lock(&git_dir.join(LOCK_FILE), |file| match file.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        });
        match file.map_err(|error| error.to_string())? {
            Some(file) => IndexLock::take_gits(git_dir, file, 1).map(Some),
            None => Ok(None),
        }
    }

    /// Whether a process holds the locks, or has died with them.
    pub(super) fn exists(git_dir: &Path) -> bool {
        git_dir.join(LOCK_FILE).exists()
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "git does not notify when it releases its lock"
    )]
    fn take_gits(git_dir: &Path, file: File, tries: usize) -> Result<IndexLock, String> {
        let lock = IndexLock {
            _file: file,
            git_dir: git_dir.to_owned(),
        };
        for attempt in 1..=tries {
            match fs::hard_link(lock.kiln_lock(), lock.git_lock()) {
                Ok(()) => return Ok(lock),
                Err(_) if lock.is_held() => return Ok(lock),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error.to_string()),
            }
            if attempt < tries {
                std::thread::sleep(PAUSE);
            }
        }
        Err(format!(
            "another git is running there, or one was killed; if none is running, remove {}",
            lock.git_lock().display()
        ))
    }

    pub(super) fn index_copy(&self) -> PathBuf {
        self.git_dir.join("kiln-index")
    }

    pub(super) fn copy_index(&self) -> io::Result<()> {
        self.remove_index_copy();
        match fs::copy(self.git_dir.join("index"), self.index_copy()) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Replaces git's index with the copy.
    pub(super) fn replace_index(&self) -> io::Result<()> {
        File::open(self.index_copy())?.sync_all()?;
        fs::rename(self.index_copy(), self.git_dir.join("index"))
    }

    fn kiln_lock(&self) -> PathBuf {
        self.git_dir.join(LOCK_FILE)
    }

    fn git_lock(&self) -> PathBuf {
        self.git_dir.join("index.lock")
    }

    fn is_held(&self) -> bool {
        match (
            fs::metadata(self.kiln_lock()),
            fs::metadata(self.git_lock()),
        ) {
            (Ok(own), Ok(git)) => is_same(&own, &git),
            _ => false,
        }
    }

    fn remove_index_copy(&self) {
        let _ = fs::remove_file(self.index_copy());
        let _ = fs::remove_file(self.git_dir.join("kiln-index.lock"));
    }
}

impl Drop for IndexLock {
    fn drop(&mut self) {
        self.remove_index_copy();
        if self.is_held() {
            let _ = fs::remove_file(self.git_lock());
        }
        let _ = fs::remove_file(self.kiln_lock());
    }
}

/// Opens and locks a file that other processes may remove meanwhile; `None` if `lock` fails to get it.
fn own_lock(path: &Path, lock: impl Fn(&File) -> io::Result<bool>) -> io::Result<Option<File>> {
    loop {
        let file = File::create(path)?;
        if !lock(&file)? {
            return Ok(None);
        }
        if is_at(&file, path) {
            return Ok(Some(file));
        }
    }
}

/// Whether an open file is still the one at a path. On systems without inode numbers, open files cannot be removed.
pub(super) fn is_at(file: &File, path: &Path) -> bool {
    let is_match = |current: fs::Metadata| file.metadata().is_ok_and(|own| is_same(&current, &own));
    cfg!(not(unix)) || fs::metadata(path).is_ok_and(is_match)
}

#[cfg(unix)]
fn is_same(one: &fs::Metadata, other: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;

    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Unknown without inode numbers: a stale lock has to be removed by hand there.
#[cfg(not(unix))]
fn is_same(_: &fs::Metadata, _: &fs::Metadata) -> bool {
    false
}
