//! The packages that contain files that changed since a commit (`--changed-since`).
//!
//! Git compares the working tree with the commit from which the history of the working tree and the given one went apart,
//! so that changes of others on a branch do not count. A file that git does not track, and does not ignore, is a change.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Result, anyhow};
use kiln_go::errno_text;
use kiln_krm::kptfile::FILE_NAME;

use super::root_packages::root_packages;
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
        // Two names of a directory are one package.
        let shorter = directory.strip_prefix("./").filter(|it| !it.is_empty());
        let directory = Path::new(shorter.unwrap_or(directory));
        for file in changed_files(directory, commit)? {
            packages.extend(packages_of(directory, &file)?);
        }
    }
    let packages = packages.into_iter().map(|package| {
        let name = package.strip_prefix(".").unwrap_or(&package);
        let name = match name.as_os_str().is_empty() {
            true => Some(".".to_owned()),
            false => name.to_str().map(str::to_owned),
        };
        name.ok_or_else(|| anyhow!("the name of {} is not UTF-8", package.display()))
    });
    packages.collect()
}

/// The files below a directory that changed, relative to it. A submodule, and a repository that is not one, are a single name.
fn changed_files(directory: &Path, commit: &str) -> Result<Vec<PathBuf>> {
    let base = base(directory, commit)?;
    let compared = git(
        directory,
        commit,
        &[
            "diff",
            "--no-ext-diff",
            "--no-textconv",
            "--no-renames",
            "--ignore-submodules=none",
            "--relative",
            "--name-only",
            "-z",
            &base,
            "--",
            ".",
        ],
    )?;
    let untracked = ["ls-files", "--others", "--exclude-standard", "-z"];
    let untracked = git(directory, commit, &untracked)?;
    let names = compared.split(|byte| *byte == 0);
    let names = names.chain(untracked.split(|byte| *byte == 0));
    let names = names.map(|name| name.strip_suffix(b"/").unwrap_or(name));
    let names = names.filter(|name| !name.is_empty());
    Ok(names
        .map(|name| PathBuf::from(OsStr::from_bytes(name)))
        .collect())
}

/// The commit or tree to compare the working tree with.
fn base(directory: &Path, commit: &str) -> Result<String> {
    let is_first = commit == "HEAD" && {
        let head = [
            "rev-list",
            "--ignore-missing",
            "--max-count=1",
            "HEAD",
            "--",
        ];
        git(directory, commit, &head)?.is_empty()
    };
    let base = match is_first {
        // The empty tree: before the first commit, all files are changes.
        true => git(directory, commit, &["hash-object", "-t", "tree", "--stdin"])?,
        // `git diff --merge-base` refuses histories with several bases.
        false => git(directory, commit, &["merge-base", commit, "HEAD"])?,
    };
    Ok(String::from_utf8_lossy(&base).trim().to_owned())
}

/// The packages below `directory` that a changed file belongs to: one or none, but several for a directory that git does not
/// look into.
fn packages_of(directory: &Path, file: &Path) -> Result<Vec<PathBuf>> {
    if let Some(package) = topmost_package(directory, file) {
        return Ok(vec![package]);
    }
    let path = directory.join(file);
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => root_packages(&path),
        _ => Ok(Vec::new()),
    }
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

/// The output of a command of git that writes nothing. `commit` is for the error.
fn git(directory: &Path, commit: &str, arguments: &[&str]) -> Result<Vec<u8>> {
    let mut command = Command::new("git");
    command
        .args(["-c", "core.fsmonitor=false", "-C"])
        .arg(directory)
        .args(arguments)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("LC_ALL", "C")
        .stdin(Stdio::null());
    for variable in REPOSITORY_VARIABLES {
        command.env_remove(variable);
    }
    let failed = |reason: &str, hint: String| {
        let shown = directory.display();
        let message = format!("--changed-since {commit}: git failed in {shown}: {reason}");
        CommandError::with_hint(anyhow!(message), hint)
    };
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            let reason = format!("cannot run it: {}", errno_text(&error));
            let hint = "install git, and put it on the PATH".to_owned();
            return Err(failed(&reason, hint).into());
        }
    };
    if output.status.success() {
        return Ok(output.stdout);
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    // Only `merge-base` fails without a message.
    let reason = stderr
        .lines()
        .next()
        .unwrap_or("no commit is an ancestor of both it and HEAD");
    let reason = reason.strip_prefix("fatal: ").unwrap_or(reason);
    Err(failed(reason, hint(reason)).into())
}

/// What to do if git fails.
fn hint(reason: &str) -> String {
    let hint = if reason.contains("dubious ownership") {
        "the repository belongs to another user; if you trust it, \
         run `git config --global --add safe.directory` with its directory"
    } else if reason.starts_with("not a git repository") {
        "run the command in a clone, or without --changed-since"
    } else if reason.starts_with("cannot change to") {
        "name directories that exist"
    } else {
        "name a commit, branch or tag that git knows here; \
         a clone without history needs `git fetch --unshallow`"
    };
    hint.to_owned()
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
