//! Which refs are being changed, so that the locks of a git that was killed with us are known to be nobody's.
//!
//! Git locks a ref by a file beside it, and if git is killed the file stays and keeps everybody away. Before git is called
//! the names of the refs are written down in a file of ours, which is locked by the operating system and open in git
//! as well: who gets that lock knows that both are dead. Locks of the refs that they leave behind are removed once they
//! are older than any git holds one; those of others are left alone.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use super::RefChange;
use super::index_lock::is_at;

/// The file of ours.
const NAME: &str = "kiln-refs";

/// No git that lives holds the lock of a ref for longer, and so long does git wait for one before it gives up.
const STALE: Duration = Duration::from_secs(4);

/// The file, locked.
pub(super) struct RefJournal {
    git_dir: PathBuf,
    file: File,
    /// The refs that the dead were changing.
    left: Vec<String>,
}

impl RefJournal {
    /// Waits for whoever is changing refs, and begins. Refs are in git's directory that all work trees share.
    pub(super) fn begin(git_dir: &Path, changes: &[RefChange]) -> io::Result<RefJournal> {
        let lock = |file: &File| file.lock().map(|()| true);
        let Some(mut journal) = RefJournal::open(git_dir, lock)? else {
            return Err(io::ErrorKind::WouldBlock.into());
        };
        let names: String = changes.iter().map(|it| format!("{}\n", it.name)).collect();
        journal.file.write_all(names.as_bytes())?;
        Ok(journal)
    }

    /// Removes what the dead have left, unless somebody is alive and at it.
    pub(super) fn clean(git_dir: &Path) {
        if !git_dir.join(NAME).exists() {
            return;
        }
        let lock = |file: &File| match file.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        };
        if let Ok(Some(journal)) = RefJournal::open(git_dir, lock) {
            journal.remove_left();
            journal.end();
        }
    }

    /// What git writes to, and so keeps open as long as it lives.
    pub(super) fn output(&self) -> io::Result<Stdio> {
        Ok(Stdio::from(self.file.try_clone()?))
    }

    /// Removes the locks that the dead have left; whether there were any.
    pub(super) fn remove_left(&self) -> bool {
        let mut is_any = false;
        for lock in self.left_locks() {
            let age = fs::metadata(&lock).and_then(|it| it.modified());
            let age = age.map(|time| SystemTime::now().duration_since(time).unwrap_or_default());
            if age.is_ok_and(|age| age >= STALE) {
                is_any |= fs::remove_file(lock).is_ok();
            }
        }
        is_any
    }

    /// Git has come to its end: of ours nothing is left. What the dead have left and is too young stays written down.
    pub(super) fn end(mut self) {
        if self.left_locks().is_empty() {
            let _ = fs::remove_file(self.git_dir.join(NAME));
            return;
        }
        let names: String = self.left.iter().map(|name| format!("{name}\n")).collect();
        let _ = self.file.set_len(0);
        let _ = self.file.seek(SeekFrom::Start(0));
        let _ = self.file.write_all(names.as_bytes());
    }

    /// The locks beside the refs that the dead were changing, as far as they are there.
    fn left_locks(&self) -> Vec<PathBuf> {
        if self.left.is_empty() {
            return Vec::new();
        }
        let names = self.left.iter().map(String::as_str);
        let names = names.chain(["packed-refs", "HEAD"]);
        let locks = names.map(|name| self.git_dir.join(format!("{name}.lock")));
        // A link would lead to somebody else's locks.
        let top = self.git_dir.canonicalize().ok();
        let is_inside = |lock: &PathBuf| {
            let directory = lock.parent().and_then(|it| it.canonicalize().ok());
            let pair = directory.zip(top.as_ref());
            pair.is_some_and(|(directory, top)| directory.starts_with(top))
        };
        locks
            .filter(|lock| lock.exists())
            .filter(is_inside)
            .collect()
    }

    /// Opens and locks the file, which others may have removed meanwhile; none if it is not to be had.
    fn open(
        git_dir: &Path,
        lock: impl Fn(&File) -> io::Result<bool>,
    ) -> io::Result<Option<RefJournal>> {
        let path = git_dir.join(NAME);
        loop {
            let mut options = File::options();
            let options = options.read(true).append(true).create(true);
            let mut file = options.open(&path)?;
            if !lock(&file)? {
                return Ok(None);
            }
            if !is_at(&file, &path) {
                continue;
            }
            let mut text = String::new();
            file.read_to_string(&mut text)?;
            // Git has written its own words after the names.
            let is_ref = |line: &&str| super::RefName::whole(line).is_ok();
            return Ok(Some(RefJournal {
                git_dir: git_dir.to_owned(),
                left: text.lines().filter(is_ref).map(str::to_owned).collect(),
                file,
            }));
        }
    }
}
