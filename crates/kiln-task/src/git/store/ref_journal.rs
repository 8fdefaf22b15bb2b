//! A journal of ref updates, by which the updates of killed processes are finished and their locks removed.
//!
//! A transaction of git is atomic for readers, but a killed git may have updated only some refs, and its lock files stay and
//! block everyone. So kiln writes the updates to a file before it starts git. The file is locked by the operating system and
//! is also the output of git: a process that gets the lock knows that kiln and git are dead, and reads how far git came. If
//! git had all locks, the updates are completed. Otherwise only locks are left, which are removed once they are older than
//! any lock of a running git.

use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use super::super::id::{ObjectId, RefName};
use super::super::program::{GitError, GitProgram};
use super::RefChange;
use super::index_lock::is_at;
use super::local::{is_lock, transaction, update_refs};

/// The name of the journal file.
const NAME: &str = "kiln-refs";

/// A running git does not hold the lock of a ref for longer, and waits for one at least as long.
const STALE: Duration = Duration::from_secs(4);

/// Git's output when it has all locks.
const PREPARED: &str = "prepare: ok";
/// Git's output at the end.
const COMMITTED: &str = "commit: ok";

/// The journal file, locked.
pub(super) struct RefJournal {
    git_dir: PathBuf,
    file: File,
    /// Updates of killed processes whose git had not yet all locks. They are not finished, but may have left locks.
    unprepared: Vec<RefChange>,
}

impl RefJournal {
    /// Waits for other processes that update refs, finishes the updates of killed ones, and writes new ones. `git_dir` is the git
    /// directory that all work trees share.
    pub(super) fn begin(
        git: &GitProgram,
        git_dir: &Path,
        changes: &[RefChange],
    ) -> io::Result<RefJournal> {
        let lock = |file: &File| file.lock().map(|()| true);
        let Some(mut journal) = RefJournal::open(git_dir, lock)? else {
            return Err(io::ErrorKind::WouldBlock.into());
        };
        journal.complete(git)?;
        journal.file.write_all(&transaction(changes))?;
        Ok(journal)
    }

    /// Finishes the updates of killed processes, unless a running process holds the journal.
    pub(super) fn recover(git: &GitProgram, git_dir: &Path) {
        if !git_dir.join(NAME).exists() {
            return;
        }
        let lock = |file: &File| match file.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        };
        if let Ok(Some(mut journal)) = RefJournal::open(git_dir, lock)
            && journal.complete(git).is_ok()
        {
            journal.remove_stale_locks();
            journal.end();
        }
    }

    /// Reads the journal, and completes updates that git had begun.
    fn complete(&mut self, git: &GitProgram) -> io::Result<()> {
        let mut text = String::new();
        self.file.read_to_string(&mut text)?;
        let (mut last, mut is_prepared) = (Vec::new(), false);
        for line in text.lines() {
            match line {
                // The process that wrote this line had completed the updates before it, except for their locks.
                "start" => {
                    self.unprepared.append(&mut last);
                    is_prepared = false;
                }
                PREPARED => is_prepared = true,
                COMMITTED => last.clear(),
                line => last.extend(read_change(line)),
            }
        }
        if !is_prepared {
            self.unprepared.append(&mut last);
            return Ok(());
        }
        // At this time git held all of these locks, so those that are older are its own.
        let prepared = self.file.metadata()?.modified()?;
        for lock in self.locks_of(&last) {
            if fs::metadata(&lock)
                .and_then(|metadata| metadata.modified())
                .is_ok_and(|time| time <= prepared)
            {
                fs::remove_file(lock)?;
            }
        }
        let failed = |error: GitError| io::Error::other(error.to_string());
        let rest = remaining(git, &last).map_err(failed)?;
        if !rest.is_empty() {
            let output = update_refs(git, self, &rest).map_err(failed)?;
            let message = String::from_utf8_lossy(&output.stderr);
            // A lock is released sooner or later. Any other failure would only repeat.
            if is_lock(&message) {
                return Err(io::Error::other(message));
            }
        }
        self.file.set_len(0)
    }

    /// The standard output for git, which keeps the journal open as long as git runs.
    pub(super) fn output(&self) -> io::Result<Stdio> {
        Ok(Stdio::from(self.file.try_clone()?))
    }

    /// Removes the locks of killed processes. Returns whether there were any.
    pub(super) fn remove_stale_locks(&self) -> bool {
        let mut removed_any = false;
        for lock in self.stale_locks() {
            let age = fs::metadata(&lock).and_then(|metadata| metadata.modified());
            let age = age.map(|time| SystemTime::now().duration_since(time).unwrap_or_default());
            if age.is_ok_and(|age| age >= STALE) {
                removed_any |= fs::remove_file(lock).is_ok();
            }
        }
        removed_any
    }

    /// Removes the journal after git has ended, unless there are locks of killed processes that are too young to be removed.
    pub(super) fn end(mut self) {
        if self.stale_locks().is_empty() {
            let _ = fs::remove_file(self.git_dir.join(NAME));
            return;
        }
        let _ = self.file.set_len(0);
        let _ = self.file.write_all(&transaction(&self.unprepared));
    }

    /// The existing locks of killed processes.
    fn stale_locks(&self) -> Vec<PathBuf> {
        self.locks_of(&self.unprepared)
    }

    fn locks_of(&self, changes: &[RefChange]) -> Vec<PathBuf> {
        if changes.is_empty() {
            return Vec::new();
        }
        let names = changes.iter().map(|change| change.name.as_str());
        let names = names.chain(["packed-refs", "HEAD"]);
        let locks = names.map(|name| self.git_dir.join(format!("{name}.lock")));
        // A symbolic link would lead to locks outside the repository.
        let top = self.git_dir.canonicalize().ok();
        let is_inside = |lock: &PathBuf| {
            let directory = lock
                .parent()
                .and_then(|metadata| metadata.canonicalize().ok());
            let pair = directory.zip(top.as_ref());
            pair.is_some_and(|(directory, top)| directory.starts_with(top))
        };
        locks
            .filter(|lock| lock.exists())
            .filter(is_inside)
            .collect()
    }

    /// Opens and locks the file, which other processes may remove meanwhile; `None` if `lock` fails to get it.
    fn open(
        git_dir: &Path,
        lock: impl Fn(&File) -> io::Result<bool>,
    ) -> io::Result<Option<RefJournal>> {
        let path = git_dir.join(NAME);
        loop {
            let mut options = File::options();
            let options = options.read(true).append(true).create(true);
            let file = options.open(&path)?;
            if !lock(&file)? {
                return Ok(None);
            }
            if is_at(&file, &path) {
                return Ok(Some(RefJournal {
                    git_dir: git_dir.to_owned(),
                    unprepared: Vec::new(),
                    file,
                }));
            }
        }
    }
}

/// The updates that are still to be made: none if git had made none, and not those of refs that have changed since.
fn remaining(git: &GitProgram, changes: &[RefChange]) -> Result<Vec<RefChange>, GitError> {
    let mut rest = Vec::new();
    let mut is_begun = false;
    for change in changes {
        let arguments = ["-q", "--verify", change.name.as_str()].map(OsStr::new);
        let output = git.output("rev-parse", &arguments, b"")?;
        let now = ObjectId::new(String::from_utf8_lossy(&output.stdout).trim());
        is_begun |= now == change.new;
        if now != change.new && now == change.old {
            rest.push(change.clone());
        }
    }
    if !is_begun {
        rest.clear();
    }
    Ok(rest)
}

/// Parses a line of a transaction.
fn read_change(line: &str) -> Option<RefChange> {
    let mut words = line.split(' ');
    let verb = words.next()?;
    let name = RefName::whole(words.next()?).ok()?;
    let mut id = || ObjectId::new(words.next()?);
    let (new, old) = match verb {
        "update" => (Some(id()?), Some(id()?)),
        "create" => (Some(id()?), None),
        "delete" => (None, Some(id()?)),
        _ => return None,
    };
    Some(RefChange { name, old, new })
}
