//! A repository on this machine, worked on directly: refs change in one transaction of git's.
//!
//! If the branch that changes is checked out, its files are brought along, unless somebody has changed them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::super::id::{ObjectId, RefName};
use super::super::layout::is_revision;
use super::super::program::{GitError, GitProgram};
use super::{OpenError, PublishError, RefChange};

/// Finds the repository around a directory.
pub(super) fn open(path: &Path, program: &GitProgram) -> Result<(GitProgram, String), OpenError> {
    let open_error = |error| OpenError::Git {
        location: path.display().to_string(),
        error,
    };
    let place = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    if !place.is_dir() {
        return Err(OpenError::NoDirectory(place));
    }
    let arguments = [
        OsStr::new("--absolute-git-dir"),
        OsStr::new("--is-bare-repository"),
        OsStr::new("--show-cdup"),
    ];
    let found = program
        .run_in(&place, "rev-parse", &arguments)
        .map_err(open_error)?;
    let text = String::from_utf8_lossy(&found);
    let mut lines = text.lines();
    let (git_dir, is_bare, up) = (lines.next(), lines.next(), lines.next());
    let Some(git_dir) = git_dir.filter(|git_dir| !git_dir.is_empty()) else {
        return Err(open_error(GitError::Unexpected {
            command: "rev-parse",
            answer: text.into_owned(),
        }));
    };
    let git = program.in_repository(Path::new(git_dir));
    if is_bare == Some("true") {
        return Ok((git, git_dir.to_owned()));
    }
    let top = match up.unwrap_or_default() {
        "" => place,
        up => place.join(up).canonicalize().unwrap_or(place),
    };
    Ok((git, top.display().to_string()))
}

/// Changes refs in one transaction.
pub(super) fn publish(git: &GitProgram, changes: &[RefChange]) -> Result<(), PublishError> {
    let checked_out = checked_out(git, changes)?;
    for checked_out in &checked_out {
        checked_out.bring_along(git, Some("--dry-run"))?;
    }
    let output = git.output(
        "update-ref",
        &[OsStr::new("--stdin")],
        &transaction(changes),
    )?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(refusal(&text));
    }
    for checked_out in &checked_out {
        checked_out.bring_along(git, None)?;
    }
    Ok(())
}

fn transaction(changes: &[RefChange]) -> Vec<u8> {
    let mut lines = String::from("start\n");
    for RefChange { name, old, new } in changes {
        lines += &match (old, new) {
            (Some(old), Some(new)) => format!("update {name} {new} {old}\n"),
            (None, Some(new)) => format!("create {name} {new}\n"),
            (Some(old), None) => format!("delete {name} {old}\n"),
            (None, None) => String::new(),
        };
    }
    lines += "prepare\ncommit\n";
    lines.into_bytes()
}

fn refusal(text: &str) -> PublishError {
    let message = text.strip_prefix("fatal: ").unwrap_or(text).to_owned();
    let is_stale = [
        "but expected",
        "already exists",
        "unable to resolve reference",
        "Unable to create",
    ]
    .iter()
    .any(|words| text.contains(words));
    match is_stale {
        true => PublishError::Stale(message),
        false => PublishError::Rejected(message),
    }
}

/// A branch that is checked out and changes.
struct CheckedOut<'a> {
    work_tree: PathBuf,
    branch: &'a RefName,
    /// None if the branch is about to be made.
    old: Option<&'a ObjectId>,
    new: &'a ObjectId,
}

/// The directory without entries, which every git knows.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const EMPTY_TREE_SHA256: &str = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";

/// The branches among the changes that are checked out, in any work tree of the repository.
fn checked_out<'a>(
    git: &GitProgram,
    changes: &'a [RefChange],
) -> Result<Vec<CheckedOut<'a>>, PublishError> {
    // Nobody has checked out a revision that does not exist yet. A branch that does not is what an empty repository is on.
    let moved = |change: &'a RefChange| {
        let is_branch = change.name.as_branch().is_some();
        let is_there = change.old.is_some() || !is_revision(&change.name);
        change.new.as_ref().filter(|_| is_branch && is_there)
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
        let change = changes.iter().find(|change| change.name.as_str() == branch);
        let new = change.and_then(|change| Some((change, moved(change)?)));
        if let Some((change, new)) = new {
            found.push(CheckedOut {
                work_tree: PathBuf::from(path),
                branch: &change.name,
                old: change.old.as_ref(),
                new,
            });
        }
    }
    Ok(found)
}

impl CheckedOut<'_> {
    /// Brings index and files from the old commit to the new one; what is changed stays, or is in the way.
    fn bring_along(&self, git: &GitProgram, trial: Option<&str>) -> Result<(), PublishError> {
        let git = git.anywhere();
        // Times of files that are newer than what git remembers are no changes.
        let _ = git.run_in(
            &self.work_tree,
            "update-index",
            &["-q", "--refresh"].map(OsStr::new),
        );
        let mut arguments = vec!["-m", "-u"];
        arguments.extend(trial);
        let nothing = match self.new.as_str().len() {
            64 => EMPTY_TREE_SHA256,
            _ => EMPTY_TREE,
        };
        let old = self.old.map_or(nothing, ObjectId::as_str);
        arguments.extend([old, self.new.as_str()]);
        let arguments: Vec<&OsStr> = arguments.into_iter().map(OsStr::new).collect();
        match git.run_in(&self.work_tree, "read-tree", &arguments) {
            Ok(_) => Ok(()),
            Err(GitError::Failed { message, .. }) => Err(PublishError::WorkTree {
                branch: self.branch.short().to_owned(),
                work_tree: self.work_tree.display().to_string(),
                message,
            }),
            Err(error) => Err(error.into()),
        }
    }
}
