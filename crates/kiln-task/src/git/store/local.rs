//! A repository on this machine, worked on directly: refs change in one transaction of git's.
//!
//! If the branch that changes is checked out, its files are brought along, unless somebody has changed them.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Output;

use super::super::program::{GitError, GitProgram, common_directory};
use super::ref_journal::RefJournal;
use super::work_tree::{Pending, checked_out, recover};
use super::{OpenError, PublishError, RefChange};

/// A repository on this machine.
#[derive(Debug)]
pub(super) struct Local {
    /// Git's own directory, the one that all work trees share.
    common: PathBuf,
}

/// Finds the repository around a directory, and what is to be called its place.
pub(super) fn open(
    path: &Path,
    program: &GitProgram,
) -> Result<(GitProgram, String, Local), OpenError> {
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
        .in_directory(&place)
        .run("rev-parse", &arguments, b"")
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
    let local = Local {
        common: common_directory(Path::new(git_dir)),
    };
    if is_bare == Some("true") {
        return Ok((git, git_dir.to_owned(), local));
    }
    let top = match up.unwrap_or_default() {
        "" => place,
        up => place.join(up).canonicalize().unwrap_or(place),
    };
    Ok((git, top.display().to_string(), local))
}

impl Local {
    /// Finishes what a command that was killed has left undone in work trees.
    pub(super) fn recover(&self, git: &GitProgram) -> Result<(), PublishError> {
        RefJournal::recover(git, &self.common);
        recover(git, &self.common)
    }

    /// Changes refs in one transaction.
    pub(super) fn publish(
        &self,
        git: &GitProgram,
        changes: &[RefChange],
    ) -> Result<(), PublishError> {
        self.recover(git)?;
        publish(git, &self.common, changes)
    }
}

fn publish(git: &GitProgram, common: &Path, changes: &[RefChange]) -> Result<(), PublishError> {
    let checked_out = checked_out(git, changes)?.into_iter();
    let pending: Result<Vec<Pending>, PublishError> =
        checked_out.map(|it| it.prepare(git)).collect();
    let pending = pending?;
    let output = change_refs(git, common, changes)?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(refusal(&text));
    }
    let mut finished = Ok(());
    for pending in pending {
        finished = pending.finish(git).and(finished);
    }
    finished.map_err(|error| PublishError::LeftBehind(error.to_string()))
}

fn change_refs(
    git: &GitProgram,
    common: &Path,
    changes: &[RefChange],
) -> Result<Output, PublishError> {
    let refused = |error: io::Error| {
        let common = common.display();
        PublishError::Rejected(format!("{common} cannot be written to: {error}"))
    };
    let journal = RefJournal::begin(git, common, changes).map_err(refused)?;
    let mut output = update_refs(git, &journal, changes)?;
    let is_locked = is_lock(&String::from_utf8_lossy(&output.stderr));
    if is_locked && journal.remove_left() {
        output = update_refs(git, &journal, changes)?;
    }
    // A git that was killed may have left locks; then the journal stays.
    if output.status.code().is_some() {
        journal.end();
    }
    Ok(output)
}

/// Changes refs, and has git say how far it has come in the journal.
pub(super) fn update_refs(
    git: &GitProgram,
    journal: &RefJournal,
    changes: &[RefChange],
) -> Result<Output, GitError> {
    let stdout = journal.output().map_err(GitError::Lock)?;
    let arguments = [OsStr::new("--stdin")];
    git.output_to(stdout, "update-ref", &arguments, &transaction(changes))
}

pub(super) fn transaction(changes: &[RefChange]) -> Vec<u8> {
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

/// Whether git says that a file is there by which somebody keeps others away.
pub(super) fn is_lock(text: &str) -> bool {
    text.contains(".lock': File exists")
}

fn refusal(text: &str) -> PublishError {
    let message = text.strip_prefix("fatal: ").unwrap_or(text).to_owned();
    if is_lock(text) {
        // The rest is advice for people who have called git themselves.
        let first = message.lines().next().unwrap_or_default();
        return PublishError::Locked(first.trim_end_matches('.').to_owned());
    }
    let is_stale = [
        "but expected",
        "already exists",
        "unable to resolve reference",
    ]
    .iter()
    .any(|words| text.contains(words));
    match is_stale {
        true => PublishError::Stale(message),
        false => PublishError::Rejected(message),
    }
}
