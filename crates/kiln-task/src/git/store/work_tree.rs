//! Files that are checked out, brought along when their branch changes.
//!
//! The branch changes first, the files after it. A journal in git's own directory says what is being done: if all of us
//! are killed in between, whoever opens the repository next finishes it. Meanwhile nobody else changes git's index: its
//! lock is a link to a file of ours, so that a lock that the dead have left is told from anybody else's. What a person has
//! changed is never written over.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::super::id::{ObjectId, RefName};
use super::super::program::{GitError, GitProgram};
use super::catch_up::catch_up;
use super::index_lock::IndexLock;
use super::{PublishError, RefChange};
use crate::git::layout::is_revision;

const JOURNAL: &str = "kiln-checkout";

/// A branch that is checked out and changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct CheckedOut {
    pub(super) work_tree: PathBuf,
    /// Git's own directory of that work tree.
    git_dir: PathBuf,
    branch: RefName,
    /// None if the branch is about to be made.
    old: Option<ObjectId>,
    pub(super) new: ObjectId,
}

/// A change of files that has been prepared. Dropped before the branch has moved, it has never been.
pub(super) struct Pending {
    checked_out: CheckedOut,
    lock: IndexLock,
    has_moved: bool,
}

/// The directory without entries, which every git knows.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const EMPTY_TREE_SHA256: &str = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";

/// The branches among the changes that are checked out, in any work tree of the repository.
pub(super) fn checked_out(
    git: &GitProgram,
    changes: &[RefChange],
) -> Result<Vec<CheckedOut>, PublishError> {
    // Nobody has checked out a revision that does not exist yet. A branch that does not is what an empty repository is on.
    let moved = |change: &RefChange| {
        let is_branch = change.name.as_branch().is_some();
        let is_there = change.old.is_some() || !is_revision(&change.name);
        change.new.clone().filter(|_| is_branch && is_there)
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
        // Git remembers work trees that somebody has removed.
        if !Path::new(path).is_dir() {
            continue;
        }
        let change = changes.iter().find(|change| change.name.as_str() == branch);
        if let Some((change, new)) = change.and_then(|change| Some((change, moved(change)?))) {
            let (git_dir, work_tree) = places_of(git, Path::new(path))?;
            found.push(CheckedOut {
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

/// Git's own directory, and the one that has the files: of a submodule it is not the one that git lists.
fn places_of(git: &GitProgram, listed: &Path) -> Result<(PathBuf, PathBuf), GitError> {
    let git = git.in_directory(listed);
    let arguments = ["--absolute-git-dir", "--show-toplevel"].map(OsStr::new);
    let found = git.run("rev-parse", &arguments, b"")?;
    let found = String::from_utf8_lossy(&found);
    let mut lines = found.lines().map(PathBuf::from);
    match (lines.next(), lines.next()) {
        (Some(git_dir), Some(work_tree)) => Ok((git_dir, work_tree)),
        _ => Err(GitError::Unexpected {
            command: "rev-parse",
            answer: found.into_owned(),
        }),
    }
}

impl CheckedOut {
    /// Finds out whether the files can be brought along, and makes sure that they will be.
    pub(super) fn prepare(self, git: &GitProgram) -> Result<Pending, PublishError> {
        let lock = IndexLock::take(&self.git_dir).map_err(|error| self.refusal(&error))?;
        finish_left(git, &self.git_dir, &lock)?;
        let pending = Pending {
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

    /// The tree that the files are of before the change.
    pub(super) fn old_tree(&self) -> &str {
        let nothing = match self.new.as_str().len() {
            64 => EMPTY_TREE_SHA256,
            _ => EMPTY_TREE,
        };
        self.old.as_ref().map_or(nothing, ObjectId::as_str)
    }

    pub(super) fn refusal(&self, message: &str) -> PublishError {
        let message = message.strip_prefix("error: ").unwrap_or(message);
        PublishError::WorkTree {
            branch: self.branch.short().to_owned(),
            work_tree: self.work_tree.display().to_string(),
            message: message.to_owned(),
        }
    }

    /// Brings files and our index from the old commit to the new one; what is changed stays, or is in the way.
    fn read_tree(
        &self,
        git: &GitProgram,
        lock: &IndexLock,
        trial: Option<&str>,
    ) -> Result<(), PublishError> {
        let copied = lock.copy_index();
        copied.map_err(|error| self.refusal(&error.to_string()))?;
        let git = work_tree_git(git, &self.work_tree, lock)?;
        // Times of files that are newer than what git remembers are no changes.
        let _ = git.run("update-index", &["-q", "--refresh"].map(OsStr::new), b"");
        let mut arguments = vec!["-m", "-u"];
        arguments.extend(trial);
        arguments.extend([self.old_tree(), self.new.as_str()]);
        let arguments: Vec<&OsStr> = arguments.into_iter().map(OsStr::new).collect();
        match git.run("read-tree", &arguments, b"") {
            Ok(_) => Ok(()),
            Err(GitError::Failed { message, .. }) => Err(self.refusal(&message)),
            Err(error) => Err(error.into()),
        }
    }

    /// Brings the files along, whether nothing, a part or all of it has been done.
    fn bring_along(&self, git: &GitProgram, lock: &IndexLock) -> Result<(), PublishError> {
        self.read_tree(git, lock, None)
            .or_else(|_| catch_up(git, self, lock))?;
        let ended = lock
            .use_index()
            .and_then(|()| fs::remove_file(self.journal()));
        ended.map_err(|error| self.refusal(&error.to_string()))
    }

    fn journal(&self) -> PathBuf {
        self.git_dir.join(JOURNAL)
    }

    /// The file is there whole or not at all.
    fn write_journal(&self) -> std::io::Result<()> {
        let text = format!(
            "{}\n{}\n{}\n{}\n",
            self.branch,
            self.old.as_ref().map_or("", ObjectId::as_str),
            self.new,
            self.work_tree.display()
        );
        let beside = self.git_dir.join(format!("{JOURNAL}.new"));
        fs::write(&beside, text)?;
        fs::File::open(&beside)?.sync_all()?;
        fs::rename(&beside, self.journal())
    }

    /// What a journal says; none if there is none, or none of ours.
    fn read_journal(git_dir: &Path) -> Option<CheckedOut> {
        let text = fs::read_to_string(git_dir.join(JOURNAL)).ok()?;
        let mut lines = text.lines();
        let branch = RefName::whole(lines.next()?).ok()?;
        let old = lines.next()?;
        Some(CheckedOut {
            branch,
            old: ObjectId::new(old),
            new: ObjectId::new(lines.next()?)?,
            work_tree: PathBuf::from(lines.next()?),
            git_dir: git_dir.to_owned(),
        })
    }

    /// Whether the work tree is there and this repository's, and still on the branch, and the branch where we have brought it.
    fn is_current(&self, git: &GitProgram) -> Result<bool, GitError> {
        let is_same = |one: &Path, other: &Path| match (one.canonicalize(), other.canonicalize()) {
            (Ok(one), Ok(other)) => one == other,
            _ => false,
        };
        // A journal can be anybody's: it does not lead us into other repositories.
        let places = match self.work_tree.is_dir() {
            true => Some(places_of(git, &self.work_tree)?),
            false => None,
        };
        let is_own = places.is_some_and(|(git_dir, work_tree)| {
            is_same(&git_dir, &self.git_dir) && is_same(&work_tree, &self.work_tree)
        });
        if !is_own {
            return Ok(false);
        }
        let git = git.in_directory(&self.work_tree);
        let said = |command, arguments: &[&str]| -> Result<String, GitError> {
            let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
            let output = git.output(command, &arguments, b"")?;
            Ok(String::from_utf8_lossy(&output.stdout)
                .trim_end()
                .to_owned())
        };
        let head = said("symbolic-ref", &["-q", "HEAD"])?;
        let at = said("rev-parse", &["-q", "--verify", self.branch.as_str()])?;
        Ok(head == self.branch.as_str() && at == self.new.as_str())
    }
}

impl Pending {
    /// The branch has moved: the files go with it. If they do not, the journal stays.
    pub(super) fn finish(mut self, git: &GitProgram) -> Result<(), PublishError> {
        self.has_moved = true;
        self.checked_out.bring_along(git, &self.lock)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.has_moved {
            let _ = fs::remove_file(self.checked_out.journal());
        }
    }
}

/// Git for the files of a work tree, with our index. It converts nothing: packages go into the repository as they are, and
/// who set up a repository does not get its programs run by way of its settings.
pub(super) fn work_tree_git(
    git: &GitProgram,
    work_tree: &Path,
    lock: &IndexLock,
) -> Result<GitProgram, GitError> {
    let mut git = git.in_directory(work_tree).with_index(&lock.own_index());
    let pattern = r"^filter\..*\.(clean|smudge|process|required)$";
    let arguments = ["-z", "--name-only", "--get-regexp", pattern].map(OsStr::new);
    let filters = git.output("config", &arguments, b"")?.stdout;
    for name in filters.split(|byte| *byte == 0).filter(|it| !it.is_empty()) {
        let name = String::from_utf8_lossy(name);
        let value = match name.ends_with(".required") {
            true => "false",
            false => "",
        };
        git = git.with_config(&name, value);
    }
    Ok(git)
}

/// Finishes what was begun in any work tree of a repository and not ended. It is given by git's directory that they share.
pub(super) fn recover(git: &GitProgram, common: &Path) -> Result<(), PublishError> {
    let mut places = vec![common.to_owned()];
    let others = fs::read_dir(common.join("worktrees"));
    places.extend(others.into_iter().flatten().flatten().map(|it| it.path()));
    for place in places {
        let left = CheckedOut::read_journal(&place);
        if left.is_none() && !IndexLock::is_there(&place) {
            continue;
        }
        match (IndexLock::try_take(&place), left) {
            (Ok(Some(lock)), _) => finish_left(git, &place, &lock)?,
            // Whoever has it is alive and does it.
            (Ok(None), _) | (Err(_), None) => {}
            (Err(error), Some(left)) => return Err(left.refusal(&error)),
        }
    }
    Ok(())
}

/// Whoever writes the journal has the lock, so whoever has the lock finds what the dead have left, or nothing.
fn finish_left(git: &GitProgram, git_dir: &Path, lock: &IndexLock) -> Result<(), PublishError> {
    let Some(left) = CheckedOut::read_journal(git_dir) else {
        return Ok(());
    };
    if left.is_current(git)? {
        return left.bring_along(git, lock);
    }
    // It did not happen, or somebody has gone on from there.
    let removed = fs::remove_file(left.journal());
    removed.map_err(|error| left.refusal(&error.to_string()))
}
