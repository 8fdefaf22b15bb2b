//! Git's index, locked as git locks it, and a copy of it to work on.
//!
//! There are two locks. The first is the operating system's, on a file of ours: it goes when its owner dies, and keeps two
//! of us apart. The second is git's `index.lock`, a link to the same file. Who has the first and finds the second to be
//! a link to it knows that its owner is dead.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often and how long git's lock is waited for; git itself holds it for moments.
const TRIES: usize = 100;
const PAUSE: Duration = Duration::from_millis(50);

/// Both locks, until it is dropped.
pub(super) struct IndexLock {
    git_dir: PathBuf,
    _file: File,
}

/// The file of ours.
const OWN: &str = "kiln-lock";

impl IndexLock {
    /// Waits for both locks; why they cannot be had, in words.
    pub(super) fn take(git_dir: &Path) -> Result<IndexLock, String> {
        let file = own_lock(&git_dir.join(OWN), |file| file.lock().map(|()| true));
        match file.map_err(|error| error.to_string())? {
            Some(file) => IndexLock::take_gits(git_dir, file, TRIES),
            None => Err("it cannot be locked".to_owned()),
        }
    }

    /// Both locks if nobody has them; none if one of us has, who is alive then.
    pub(super) fn try_take(git_dir: &Path) -> Result<Option<IndexLock>, String> {
        let file = own_lock(&git_dir.join(OWN), |file| match file.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        });
        match file.map_err(|error| error.to_string())? {
            Some(file) => IndexLock::take_gits(git_dir, file, 1).map(Some),
            None => Ok(None),
        }
    }

    /// Whether somebody has the locks, or died with them.
    pub(super) fn is_there(git_dir: &Path) -> bool {
        git_dir.join(OWN).exists()
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "git does not tell when it lets go of its lock"
    )]
    fn take_gits(git_dir: &Path, file: File, tries: usize) -> Result<IndexLock, String> {
        let lock = IndexLock {
            _file: file,
            git_dir: git_dir.to_owned(),
        };
        for attempt in 1..=tries {
            match fs::hard_link(lock.own(), lock.gits()) {
                Ok(()) => return Ok(lock),
                Err(_) if lock.is_ours() => return Ok(lock),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error.to_string()),
            }
            if attempt < tries {
                std::thread::sleep(PAUSE);
            }
        }
        Err(format!(
            "another git is working there, or was killed and left {}",
            lock.gits().display()
        ))
    }

    /// The index that only we know.
    pub(super) fn own_index(&self) -> PathBuf {
        self.git_dir.join("kiln-index")
    }

    /// Makes our index what git's is.
    pub(super) fn copy_index(&self) -> io::Result<()> {
        self.forget_own_index();
        match fs::copy(self.git_dir.join("index"), self.own_index()) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Makes our index git's.
    pub(super) fn use_index(&self) -> io::Result<()> {
        File::open(self.own_index())?.sync_all()?;
        fs::rename(self.own_index(), self.git_dir.join("index"))
    }

    fn own(&self) -> PathBuf {
        self.git_dir.join(OWN)
    }

    fn gits(&self) -> PathBuf {
        self.git_dir.join("index.lock")
    }

    fn is_ours(&self) -> bool {
        match (fs::metadata(self.own()), fs::metadata(self.gits())) {
            (Ok(own), Ok(gits)) => is_same(&own, &gits),
            _ => false,
        }
    }

    fn forget_own_index(&self) {
        let _ = fs::remove_file(self.own_index());
        let _ = fs::remove_file(self.git_dir.join("kiln-index.lock"));
    }
}

impl Drop for IndexLock {
    fn drop(&mut self) {
        self.forget_own_index();
        if self.is_ours() {
            let _ = fs::remove_file(self.gits());
        }
        let _ = fs::remove_file(self.own());
    }
}

/// Opens and locks a file that others may have removed meanwhile; none if it is not to be had.
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

/// Whether an open file is the one at a path. Where that cannot be told, open files cannot be removed.
pub(super) fn is_at(file: &File, path: &Path) -> bool {
    let is_it = |there: fs::Metadata| file.metadata().is_ok_and(|own| is_same(&there, &own));
    cfg!(not(unix)) || fs::metadata(path).is_ok_and(is_it)
}

#[cfg(unix)]
fn is_same(one: &fs::Metadata, other: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;

    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Where files have no numbers nobody can tell: a lock that was left has to be removed by hand.
#[cfg(not(unix))]
fn is_same(_: &fs::Metadata, _: &fs::Metadata) -> bool {
    false
}
