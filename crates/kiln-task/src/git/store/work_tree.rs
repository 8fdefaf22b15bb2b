//! Updates checked-out files when their branch changes.
//!
//! The branch is updated first, then the files. A journal in the git directory records the update: if kiln is killed in between,
//! the next command that opens the repository finishes it. Meanwhile git's index is locked: its lock is a link to a file of
//! kiln's, which distinguishes the lock of a killed kiln from any other. Changes of the user are never overwritten.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::super::id::{ObjectId, RefName};
use super::super::program::{GitError, GitProgram};
use super::finish_checkout::finish_checkout;
use super::index_lock::IndexLock;
use super::{PublishError, RefChange};
use crate::git::layout::is_revision;

const JOURNAL: &str = "kiln-checkout";

/// A checked-out branch that is being updated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct CheckoutUpdate {
    pub(super) work_tree: PathBuf,
    /// The git directory of that work tree.
    git_dir: PathBuf,
    branch: RefName,
    /// `None` if the branch does not exist yet.
    old: Option<ObjectId>,
    pub(super) new: ObjectId,
}

/// A prepared update of files. If it is dropped before the branch is updated, nothing has changed.
pub(super) struct PreparedCheckout {
    checked_out: CheckoutUpdate,
    lock: IndexLock,
    has_moved: bool,
}

/// The empty tree, which exists in every repository.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const EMPTY_TREE_SHA256: &str = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";

/// The updated branches that are checked out in any work tree of the repository.
pub(super) fn checked_out(
    git: &GitProgram,
    changes: &[RefChange],
) -> Result<Vec<CheckoutUpdate>, PublishError> {
    // A new revision cannot be checked out. Another branch that does not exist yet can, in an empty repository.
    let moved = |change: &RefChange| {
        let is_branch = change.name.as_branch().is_some();
        let exists = change.old.is_some() || !is_revision(&change.name);
        change.new.clone().filter(|_| is_branch && exists)
    };
    if !changes.iter().any(|change| moved(change).is_some()) {
        return Ok(Vec::new());
    }
    let output = git.run("worktree", &["list", "--porcelain"].map(OsStr::new), b"")?;
    let text = String::from_utf8_lossy(&output);
    let mut found = Vec::new();
    for tree in text.split("\n\n") {
        let field = |name: &str| tree.lines().find_map(|line| line.strip_prefix(name));
        let (Some(path), Some(branch)) = (field("worktree "), field("branch ")) else {
            continue;
        };
        // Git also lists work trees whose directory was removed.
        if !Path::new(path).is_dir() {
            continue;
        }
        let change = changes.iter().find(|change| change.name.as_str() == branch);
        if let Some((change, new)) = change.and_then(|change| Some((change, moved(change)?))) {
            let (git_dir, work_tree) = directories_of(git, Path::new(path))?;
            found.push(CheckoutUpdate {
                git_dir,
                work_tree,
                branch: change.name.clone(),
                old: change.old.clone(),
                new,
            });
        }
    }
    Ok(found)
}

/// The git directory and the root of a work tree. For a submodule, git lists another directory.
fn directories_of(git: &GitProgram, listed: &Path) -> Result<(PathBuf, PathBuf), GitError> {
    let git = git.in_directory(listed);
    let arguments = ["--absolute-git-dir", "--show-toplevel"].map(OsStr::new);
    let found = git.run("rev-parse", &arguments, b"")?;
    let found = String::from_utf8_lossy(&found);
    let mut lines = found.lines().map(PathBuf::from);
    match (lines.next(), lines.next()) {
        (Some(git_dir), Some(work_tree)) => Ok((git_dir, work_tree)),
        _ => Err(GitError::Unexpected {
            command: "rev-parse",
            output: found.into_owned(),
        }),
    }
}

impl CheckoutUpdate {
    /// Checks that the files can be updated, and writes the journal.
    pub(super) fn prepare(self, git: &GitProgram) -> Result<PreparedCheckout, PublishError> {
        let lock = IndexLock::take(&self.git_dir).map_err(|error| self.refusal(&error))?;
        finish_interrupted(git, &self.git_dir, &lock)?;
        let pending = PreparedCheckout {
            checked_out: self,
            lock,
            has_moved: false,
        };
        let this = &pending.checked_out;
        this.read_tree(git, &pending.lock, Some("--dry-run"))?;
        this.write_journal()
            .map_err(|error| this.refusal(&error.to_string()))?;
        Ok(pending)
    }

    /// The tree of the files before the update.
    pub(super) fn old_tree(&self) -> &str {
        let empty = match self.new.as_str().len() {
            64 => EMPTY_TREE_SHA256,
            _ => EMPTY_TREE,
        };
        self.old.as_ref().map_or(empty, ObjectId::as_str)
    }

    pub(super) fn refusal(&self, message: &str) -> PublishError {
        let message = message.strip_prefix("error: ").unwrap_or(message);
        PublishError::WorkTree {
            branch: self.branch.short().to_owned(),
            work_tree: self.work_tree.display().to_string(),
            message: message.to_owned(),
        }
    }

    /// Updates files and the copy of the index to the new commit. Fails if a change of the user is in the way.
    fn read_tree(
        &self,
        git: &GitProgram,
        lock: &IndexLock,
        dry_run: Option<&str>,
    ) -> Result<(), PublishError> {
        let copied = lock.copy_index();
        copied.map_err(|error| self.refusal(&error.to_string()))?;
        let git = work_tree_git(git, &self.work_tree, lock)?;
        // Without a refresh, git takes files with newer times for changed.
        let _ = git.run("update-index", &["-q", "--refresh"].map(OsStr::new), b"");
        let mut arguments = vec!["-m", "-u"];
        arguments.extend(dry_run);
        arguments.extend([self.old_tree(), self.new.as_str()]);
        let arguments: Vec<&OsStr> = arguments.into_iter().map(OsStr::new).collect();
        match git.run("read-tree", &arguments, b"") {
            Ok(_) => Ok(()),
            Err(GitError::Failed { message, .. }) => Err(self.refusal(&message)),
            Err(error) => Err(error.into()),
        }
    }

    /// Updates the files, even if a part of them is updated already.
    fn update_files(&self, git: &GitProgram, lock: &IndexLock) -> Result<(), PublishError> {
        self.read_tree(git, lock, None)
            .or_else(|_| finish_checkout(git, self, lock))?;
        let ended = lock
            .replace_index()
            .and_then(|()| fs::remove_file(self.journal()));
        ended.map_err(|error| self.refusal(&error.to_string()))
    }

    fn journal(&self) -> PathBuf {
        self.git_dir.join(JOURNAL)
    }

    /// Writes the journal atomically.
    fn write_journal(&self) -> std::io::Result<()> {
        let text = format!(
            "{}\n{}\n{}\n{}\n",
            self.branch,
            self.old.as_ref().map_or("", ObjectId::as_str),
            self.new,
            self.work_tree.display()
        );
        let temporary = self.git_dir.join(format!("{JOURNAL}.new"));
        fs::write(&temporary, text)?;
        fs::File::open(&temporary)?.sync_all()?;
        fs::rename(&temporary, self.journal())
    }

    /// Reads the journal; `None` if there is none or it is invalid.
    fn read_journal(git_dir: &Path) -> Option<CheckoutUpdate> {
        let text = fs::read_to_string(git_dir.join(JOURNAL)).ok()?;
        let mut lines = text.lines();
        let branch = RefName::whole(lines.next()?).ok()?;
        let old = lines.next()?;
        Some(CheckoutUpdate {
            branch,
            old: ObjectId::new(old),
            new: ObjectId::new(lines.next()?)?,
            work_tree: PathBuf::from(lines.next()?),
            git_dir: git_dir.to_owned(),
        })
    }

    /// Whether the work tree exists, belongs to this repository and is still on the branch, and the branch has its new value.
    fn is_current(&self, git: &GitProgram) -> Result<bool, GitError> {
        let is_same = |one: &Path, other: &Path| match (one.canonicalize(), other.canonicalize()) {
            (Ok(one), Ok(other)) => one == other,
            _ => false,
        };
        // The journal is not trusted: it must not lead into another repository.
        let directories = match self.work_tree.is_dir() {
            true => Some(directories_of(git, &self.work_tree)?),
            false => None,
        };
        let is_own = directories.is_some_and(|(git_dir, work_tree)| {
            is_same(&git_dir, &self.git_dir) && is_same(&work_tree, &self.work_tree)
        });
        if !is_own {
            return Ok(false);
        }
        let git = git.in_directory(&self.work_tree);
        let output_of = |command, arguments: &[&str]| -> Result<String, GitError> {
            let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
            let output = git.output(command, &arguments, b"")?;
            Ok(String::from_utf8_lossy(&output.stdout)
                .trim_end()
                .to_owned())
        };
        let head = output_of("symbolic-ref", &["-q", "HEAD"])?;
        let at = output_of("rev-parse", &["-q", "--verify", self.branch.as_str()])?;
        Ok(head == self.branch.as_str() && at == self.new.as_str())
    }
}

impl PreparedCheckout {
    /// Updates the files after the branch. If that fails, the journal stays.
    pub(super) fn finish(mut self, git: &GitProgram) -> Result<(), PublishError> {
        self.has_moved = true;
        self.checked_out.update_files(git, &self.lock)
    }
}

impl Drop for PreparedCheckout {
    fn drop(&mut self) {
        if !self.has_moved {
            let _ = fs::remove_file(self.checked_out.journal());
        }
    }
}

/// Git for the files of a work tree, with the copy of the index. It does not convert files, because that could run programs that
/// the settings of the repository name.
pub(super) fn work_tree_git(
    git: &GitProgram,
    work_tree: &Path,
    lock: &IndexLock,
) -> Result<GitProgram, GitError> {
    let git = git.in_directory(work_tree);
    git.with_index(&lock.index_copy()).without_filters()
}

/// Finishes interrupted updates in all work trees of a repository. `common` is the git directory that they share.
pub(super) fn recover(git: &GitProgram, common: &Path) -> Result<(), PublishError> {
    let mut directories = vec![common.to_owned()];
    let linked = fs::read_dir(common.join("worktrees"));
    directories.extend(
        linked
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path()),
    );
    for git_dir in directories {
        let interrupted = CheckoutUpdate::read_journal(&git_dir);
        if interrupted.is_none() && !IndexLock::exists(&git_dir) {
            continue;
        }
        match (IndexLock::try_take(&git_dir), interrupted) {
            (Ok(Some(lock)), _) => finish_interrupted(git, &git_dir, &lock)?,
            // Another process holds the lock and finishes the update.
            (Ok(None), _) | (Err(_), None) => {}
            (Err(error), Some(interrupted)) => return Err(interrupted.refusal(&error)),
        }
    }
    Ok(())
}

/// Finishes the update of a killed process. The journal is written only under the lock, so its writer is dead.
fn finish_interrupted(
    git: &GitProgram,
    git_dir: &Path,
    lock: &IndexLock,
) -> Result<(), PublishError> {
    let Some(interrupted) = CheckoutUpdate::read_journal(git_dir) else {
        return Ok(());
    };
    if interrupted.is_current(git)? {
        return interrupted.update_files(git, lock);
    }
    // The update did not happen, or the branch has changed since.
    let removed = fs::remove_file(interrupted.journal());
    removed.map_err(|error| interrupted.refusal(&error.to_string()))
}
