//! The packages that contain files that changed since a commit (`--changed-since`).
//!
//! Git compares the working tree with the commit from which the history of the working tree and the given one went apart,
//! so that changes of others on a branch do not count. A file that git does not track, and does not ignore, is a change.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow};
use kiln_krm::kptfile::FILE_NAME;

use crate::error::{CommandError, bail_usage};

/// Variables by which git, if it runs kiln in a hook, selects a repository for its own commands.
const REPOSITORY_VARIABLES: [&str; 4] =
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"];

/// The topmost packages below `directories` that contain files that changed since `commit`, sorted.
pub(crate) fn changed_packages(directories: &[String], commit: &str) -> Result<Vec<String>> {
    if commit.is_empty() || commit.starts_with('-') {
        bail_usage!("--changed-since: {commit:?} is not a commit, branch or tag");
    }
    let here = [".".to_owned()];
    let directories = match directories {
        [] => &here[..],
        directories => directories,
    };
    let mut packages = BTreeSet::new();
    for directory in directories {
        let directory = Path::new(directory);
        for file in changed_files(directory, commit)? {
            packages.extend(topmost_package(directory, &file));
        }
    }
    let packages = packages.into_iter().map(|package| {
        let name = package.to_str().map(str::to_owned);
        name.ok_or_else(|| anyhow!("the name of {} is not UTF-8", package.display()))
    });
    packages.collect()
}

/// The files below a directory that changed, relative to it.
fn changed_files(directory: &Path, commit: &str) -> Result<Vec<PathBuf>> {
    let compared = git(
        directory,
        &[
            "diff",
            "--no-ext-diff",
            "--no-textconv",
            "--no-renames",
            "--relative",
            "--name-only",
            "-z",
            "--merge-base",
            commit,
            "--",
            ".",
        ],
    );
    let compared = compared.map_err(|error| {
        let hint = "name a commit, branch or tag that git knows here; \
                    a clone without history needs `git fetch --unshallow`";
        CommandError::with_hint(error.context(format!("--changed-since {commit}")), hint)
    })?;
    let untracked = git(
        directory,
        &["ls-files", "--others", "--exclude-standard", "-z"],
    )?;
    let names = compared.split(|byte| *byte == 0);
    let names = names.chain(untracked.split(|byte| *byte == 0));
    let names = names.filter(|name| !name.is_empty());
    Ok(names
        .map(|name| PathBuf::from(OsStr::from_bytes(name)))
        .collect())
}

/// The package highest in the tree, from the directory of `file` up to `directory`.
fn topmost_package(directory: &Path, file: &Path) -> Option<PathBuf> {
    let mut ancestors: Vec<&Path> = file.ancestors().skip(1).collect();
    ancestors.reverse();
    let mut packages = ancestors.into_iter().map(|ancestor| match ancestor {
        root if root.as_os_str().is_empty() => directory.to_owned(),
        below => directory.join(below),
    });
    packages.find(|package| package.join(FILE_NAME).is_file())
}

/// The output of a command of git that writes nothing.
fn git(directory: &Path, arguments: &[&str]) -> Result<Vec<u8>> {
    let mut command = Command::new("git");
    command
        .args(["-c", "core.fsmonitor=false", "-C"])
        .arg(directory)
        .args(arguments)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .stdin(Stdio::null());
    for variable in REPOSITORY_VARIABLES {
        command.env_remove(variable);
    }
    let output = command.output().context("cannot run git")?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let reason = stderr.lines().next().unwrap_or("no reason given");
    let reason = reason.strip_prefix("fatal: ").unwrap_or(reason);
    Err(anyhow!("git failed in {}: {reason}", directory.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_topmost_kptfile_below_the_directory_counts() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str| {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        };
        for name in ["team/app/Kptfile", "team/app/db/Kptfile", "docs/a.yaml"] {
            write(name);
        }
        let check = |directory: &str, file: &str, expected: Option<&str>| {
            let found = topmost_package(&root.path().join(directory), Path::new(file));
            let expected = expected.map(|name| root.path().join(name));
            assert_eq!(found, expected, "{directory} {file}");
        };
        check("", "team/app/db/a.yaml", Some("team/app"));
        check("", "team/app/gone/a.yaml", Some("team/app"));
        check("", "docs/a.yaml", None);
        check("", "a.yaml", None);
        check("team/app", "db/a.yaml", Some("team/app"));
        check("team/app/db", "a.yaml", Some("team/app/db"));
    }
}
