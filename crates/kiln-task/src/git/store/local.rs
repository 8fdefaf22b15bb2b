//! A local repository: refs are updated in one transaction of git.
//!
//! If an updated branch is checked out, its files are updated too, unless the user has changed them.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Output;

use super::super::program::{GitError, GitProgram, common_directory};
use super::ref_journal::RefJournal;
use super::work_tree::{PreparedCheckout, checked_out, recover};
use super::{OpenError, PublishError, RefChange};

#[derive(Debug)]
pub(super) struct Local {
    /// The git directory that all work trees share.
    common: PathBuf,
}

/// Finds the repository around a directory, and its root directory.
pub(super) fn open(
    path: &Path,
    program: &GitProgram,
) -> Result<(GitProgram, String, Local), OpenError> {
    let open_error = |error| OpenError::Git {
        location: path.display().to_string(),
        error,
    };
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    if !absolute.is_dir() {
        return Err(OpenError::NoDirectory(absolute));
    }
    program.check_version().map_err(open_error)?;
    let arguments = [
        OsStr::new("--absolute-git-dir"),
        OsStr::new("--is-bare-repository"),
        OsStr::new("--show-cdup"),
    ];
    let found = program
        .in_directory(&absolute)
        .run("rev-parse", &arguments, b"")
        .map_err(open_error)?;
    let text = String::from_utf8_lossy(&found);
    let mut lines = text.lines();
    let (git_dir, is_bare, up) = (lines.next(), lines.next(), lines.next());
    let Some(git_dir) = git_dir.filter(|git_dir| !git_dir.is_empty()) else {
        return Err(open_error(GitError::Unexpected {
            command: "rev-parse",
            output: text.into_owned(),
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
        "" => absolute,
        up => absolute.join(up).canonicalize().unwrap_or(absolute),
    };
    Ok((git, top.display().to_string(), local))
}

impl Local {
    /// Finishes what killed commands left undone in refs and work trees.
    pub(super) fn recover(&self, git: &GitProgram) -> Result<(), PublishError> {
        RefJournal::recover(git, &self.common);
        recover(git, &self.common)
    }

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
    let pending: Result<Vec<PreparedCheckout>, PublishError> =
        checked_out.map(|checkout| checkout.prepare(git)).collect();
    let pending = pending?;
    let output = update_with_journal(git, common, changes)?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(refusal(&text));
    }
    let mut finished = Ok(());
    for pending in pending {
        finished = pending.finish(git).and(finished);
    }
    finished.map_err(|error| PublishError::CheckoutUnfinished(error.to_string()))
}

fn update_with_journal(
    git: &GitProgram,
    common: &Path,
    changes: &[RefChange],
) -> Result<Output, PublishError> {
    let not_writable = |error: io::Error| {
        let common = common.display();
        PublishError::Rejected(format!("cannot write to {common}: {error}"))
    };
    let journal = RefJournal::begin(git, common, changes).map_err(not_writable)?;
    let mut output = update_refs(git, &journal, changes)?;
    let is_locked = is_lock(&String::from_utf8_lossy(&output.stderr));
    if is_locked && journal.remove_stale_locks() {
        output = update_refs(git, &journal, changes)?;
    }
    // A killed git may have left locks. The journal stays for the next command to remove them.
    if output.status.code().is_some() {
        journal.end();
    }
    Ok(output)
}

/// Updates refs. Git writes its progress to the journal.
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

/// Whether git's message reports a lock file.
pub(super) fn is_lock(text: &str) -> bool {
    text.contains(".lock': File exists")
}

fn refusal(text: &str) -> PublishError {
    let message = text.strip_prefix("fatal: ").unwrap_or(text).to_owned();
    if is_lock(text) {
        // The other lines are advice for users of git.
        let first = message.lines().next().unwrap_or_default();
        return PublishError::Locked(first.trim_end_matches('.').to_owned());
    }
    let is_stale = [
        "but expected",
        "already exists",
        "unable to resolve reference",
    ]
    .iter()
    .any(|message| text.contains(message));
    match is_stale {
        true => PublishError::Stale(message),
        false => PublishError::Rejected(message),
    }
}
