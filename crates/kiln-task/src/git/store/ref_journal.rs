//! Which refs are being changed, so that what was begun by the dead is finished, and their locks are known to be nobody's.
//!
//! Git changes several refs at once for all who ask git, and one after the other for whoever kills it. It locks a ref by a
//! file beside it, and if it is killed the file stays and keeps everybody away. So the changes are written down, before git is
//! called, in a file of ours, which is locked by the operating system and is git's output as well: who gets that lock
//! knows that we and git are dead, and finds how far git said to have come. Once it had all locks, what is half done is done
//! to the end. Before that only locks are left: they are removed when they are older than any git holds one.

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

/// The file of ours.
const NAME: &str = "kiln-refs";

/// No git that lives holds the lock of a ref for longer, and so long does git wait for one before it gives up.
const STALE: Duration = Duration::from_secs(4);

/// What git says when it has all locks.
const PREPARED: &str = "prepare: ok";
/// What it says in the end.
const COMMITTED: &str = "commit: ok";

/// The file, locked.
pub(super) struct RefJournal {
    git_dir: PathBuf,
    file: File,
    /// What the dead were doing, before git had all locks: there is nothing to finish.
    left: Vec<RefChange>,
}

impl RefJournal {
    /// Waits for whoever is changing refs, finishes what the dead have not, and begins. Refs are in git's directory that all
    /// work trees share.
    pub(super) fn begin(
        git: &GitProgram,
        git_dir: &Path,
        changes: &[RefChange],
    ) -> io::Result<RefJournal> {
        let lock = |file: &File| file.lock().map(|()| true);
        let Some(mut journal) = RefJournal::open(git_dir, lock)? else {
            return Err(io::ErrorKind::WouldBlock.into());
        };
        journal.settle(git)?;
        journal.file.write_all(&transaction(changes))?;
        Ok(journal)
    }

    /// Finishes what the dead have not, unless somebody is alive and at it.
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
            && journal.settle(git).is_ok()
        {
            journal.remove_left();
            journal.end();
        }
    }

    /// Reads what is written down. What git had begun to change is changed to the end.
    fn settle(&mut self, git: &GitProgram) -> io::Result<()> {
        let mut text = String::new();
        self.file.read_to_string(&mut text)?;
        let (mut last, mut is_prepared) = (Vec::new(), false);
        for line in text.lines() {
            match line {
                // Whoever wrote this had settled what came before, but for its locks.
                "start" => {
                    self.left.append(&mut last);
                    is_prepared = false;
                }
                PREPARED => is_prepared = true,
                COMMITTED => last.clear(),
                line => last.extend(read_change(line)),
            }
        }
        if !is_prepared {
            self.left.append(&mut last);
            return Ok(());
        }
        // Git had all of these locks then, and nobody else had them: those that are older are its own.
        let prepared = self.file.metadata()?.modified()?;
        for lock in self.locks_of(&last) {
            if fs::metadata(&lock)
                .and_then(|it| it.modified())
                .is_ok_and(|time| time <= prepared)
            {
                fs::remove_file(lock)?;
            }
        }
        let failed = |error: GitError| io::Error::other(error.to_string());
        let rest = unchanged(git, &last).map_err(failed)?;
        if !rest.is_empty() {
            let output = update_refs(git, self, &rest).map_err(failed)?;
            let said = String::from_utf8_lossy(&output.stderr);
            // Somebody who has a lock lets go of it. Anything else does not go away by being tried again.
            if is_lock(&said) {
                return Err(io::Error::other(said));
            }
        }
        self.file.set_len(0)
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
        let _ = self.file.set_len(0);
        let _ = self.file.write_all(&transaction(&self.left));
    }

    /// The locks beside the refs that the dead were changing, as far as they are there.
    fn left_locks(&self) -> Vec<PathBuf> {
        self.locks_of(&self.left)
    }

    fn locks_of(&self, changes: &[RefChange]) -> Vec<PathBuf> {
        if changes.is_empty() {
            return Vec::new();
        }
        let names = changes.iter().map(|change| change.name.as_str());
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
            let file = options.open(&path)?;
            if !lock(&file)? {
                return Ok(None);
            }
            if is_at(&file, &path) {
                return Ok(Some(RefJournal {
                    git_dir: git_dir.to_owned(),
                    left: Vec::new(),
                    file,
                }));
            }
        }
    }
}

/// What is still to be changed. If nothing has been, nothing is; and what somebody has changed since is theirs.
fn unchanged(git: &GitProgram, changes: &[RefChange]) -> Result<Vec<RefChange>, GitError> {
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

/// A change as git is told of it; none if it is something else.
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
