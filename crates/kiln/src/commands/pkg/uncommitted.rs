//! Files whose present state git does not have, which an update does not touch without `--force`.

use std::path::Path;

use anyhow::{Error, Result, anyhow};
use kiln_krm::package::FileChange;
use kiln_task::Contents;
use kiln_task::git::{FileStatus, GitError, WorkTree, WorkTreeError};

use super::directory::PackageDirectory;
use crate::error::{CommandError, hints};
use crate::rpkg::git_environment::git_program;

/// Refuses changes of files that are modified or that git does not track. A package without any tracked file is exempt: its owner
/// does not keep it in git. `before` are its files.
pub(super) fn refuse_uncommitted(
    directory: &PackageDirectory,
    before: &Contents,
    changes: &[FileChange],
) -> Result<()> {
    let Some(status) = status(&directory.path).map_err(unknown)? else {
        return Ok(());
    };
    let has = |path: &str| {
        let path = Path::new(path);
        status.tracked.contains(path) && !status.modified.contains(path)
    };
    let touched: Vec<&str> = changes
        .iter()
        .map(|change| change.path.as_str())
        .filter(|path| before.get(path).is_some() && !has(path))
        .collect();
    let Some(first) = touched.first() else {
        return Ok(());
    };
    let rest = match touched.len() {
        1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    let error = anyhow!("{} has uncommitted changes: {first}{rest}", directory.name);
    Err(CommandError::with_hint(error, "commit or stash them, or pass --force").into())
}

/// `None` if nothing in the directory is in git.
fn status(directory: &Path) -> Result<Option<FileStatus>, WorkTreeError> {
    let Some(work_tree) = WorkTree::around(&git_program(), directory)? else {
        return Ok(None);
    };
    let status = work_tree.status()?;
    Ok(Some(status).filter(|status| !status.tracked.is_empty()))
}

/// The failure to list uncommitted changes: they would be overwritten.
fn unknown(error: WorkTreeError) -> Error {
    let hint = match &error {
        WorkTreeError::ForeignOwner(foreign) => Some(hints::foreign_repository(foreign)),
        WorkTreeError::Git(GitError::Missing(_)) => None,
        _ => Some(
            "make `git status` work here, or pass --force to overwrite such changes".to_owned(),
        ),
    };
    let error = Error::new(error).context("cannot list uncommitted changes");
    match hint {
        Some(hint) => CommandError::with_hint(error, hint).into(),
        None => error,
    }
}
