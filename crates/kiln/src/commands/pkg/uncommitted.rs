//! Files whose present state git does not have, which an update does not touch without `--force`.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Error, Result, anyhow};
use kiln_krm::package::FileChange;
use kiln_task::Contents;

use super::directory::PackageDirectory;
use crate::error::CommandError;

/// Refuses changes of files that are modified or that git does not track. A package without any tracked file is exempt: its owner
/// does not keep it in git. `before` are its files.
pub(super) fn refuse_uncommitted(
    directory: &PackageDirectory,
    before: &Contents,
    changes: &[FileChange],
) -> Result<()> {
    let Some(status) = GitStatus::of(&directory.path)? else {
        return Ok(());
    };
    let touched: Vec<&str> = changes
        .iter()
        .map(|change| change.path.as_str())
        .filter(|path| before.get(path).is_some() && !status.has(path))
        .collect();
    let Some(first) = touched.first() else {
        return Ok(());
    };
    let rest = match touched.len() {
        1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    let error = anyhow!(
        "{} has changes that are not committed: {first}{rest}",
        directory.name
    );
    Err(CommandError::with_hint(error, "commit or stash them, or pass --force").into())
}

/// What git has of the files of a directory. Paths are relative to it.
struct GitStatus {
    tracked: BTreeSet<String>,
    modified: BTreeSet<String>,
}

impl GitStatus {
    /// `None` if nothing in the directory is in git.
    fn of(directory: &Path) -> Result<Option<GitStatus>> {
        let Some(prefix) = show_prefix(directory)? else {
            return Ok(None);
        };
        let tracked = entries(&succeed(directory, &["ls-files", "-z", "--", "."])?);
        if tracked.is_empty() {
            return Ok(None);
        }
        let status = [
            "status",
            "--porcelain=v1",
            "-z",
            "--untracked-files=no",
            "--no-renames",
            "--",
            ".",
        ];
        // Two letters and a blank, and the path from the root of the repository.
        let modified = entries(&succeed(directory, &status)?)
            .iter()
            .filter_map(|line| line.get(3..)?.strip_prefix(prefix.as_str()))
            .map(str::to_owned)
            .collect();
        Ok(Some(GitStatus { tracked, modified }))
    }

    fn has(&self, path: &str) -> bool {
        self.tracked.contains(path) && !self.modified.contains(path)
    }
}

/// The path of a directory in its repository, with a slash at its end; `None` outside of a repository and without git.
fn show_prefix(directory: &Path) -> Result<Option<String>> {
    let output = match git(directory, &["rev-parse", "--show-prefix"]) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        output => output.context("cannot run git")?,
    };
    if output.status.success() {
        let prefix = String::from_utf8_lossy(&output.stdout).into_owned();
        return Ok(Some(
            prefix.strip_suffix('\n').unwrap_or(&prefix).to_owned(),
        ));
    }
    match message(&output).contains("not a git repository") {
        true => Ok(None),
        false => Err(unknown(&output)),
    }
}

/// The output of a command that must succeed: without it, uncommitted changes would be overwritten.
fn succeed(directory: &Path, arguments: &[&str]) -> Result<Vec<u8>> {
    let output = git(directory, arguments).context("cannot run git")?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(unknown(&output)),
    }
}

fn git(directory: &Path, arguments: &[&str]) -> std::io::Result<Output> {
    let arguments = arguments.iter().map(OsStr::new);
    Command::new("git")
        .args(["--no-optional-locks", "-c", "core.fsmonitor=false"])
        .args(arguments)
        .current_dir(directory)
        // Its messages are read.
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
}

fn unknown(output: &Output) -> Error {
    let error = anyhow!(
        "cannot find out which files have changes that are not committed: {}",
        message(output)
    );
    let hint = "make `git status` work here, or pass --force to overwrite such changes";
    CommandError::with_hint(error, hint).into()
}

/// The first line that git printed about a failure.
fn message(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| !line.trim().is_empty());
    match line {
        Some(line) => line.strip_prefix("fatal: ").unwrap_or(line).to_owned(),
        None => output.status.to_string(),
    }
}

/// What zero bytes separate.
fn entries(output: &[u8]) -> BTreeSet<String> {
    let text = String::from_utf8_lossy(output);
    let entries = text.split('\0').filter(|entry| !entry.is_empty());
    entries.map(str::to_owned).collect()
}
