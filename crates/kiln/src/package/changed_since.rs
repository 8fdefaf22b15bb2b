//! The packages that contain files that changed since a commit (`--changed-since`).
//!
//! Git compares the working tree with the commit from which the history of the working tree and the given one went apart,
//! so that changes of others on a branch do not count. A file that git does not track, and does not ignore, is a change.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Error, Result, anyhow};
use kiln_krm::kptfile::FILE_NAME;
use kiln_task::git::{GitError, WorkTree, WorkTreeError};

use super::root_packages::root_packages;
use crate::error::{CommandError, bail_usage, hints};
use crate::rpkg::git_environment::git_program;

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
fn changed_files(directory: &Path, commit: &str) -> Result<BTreeSet<PathBuf>> {
    let option = format!("--changed-since {commit}");
    let failed = |error: WorkTreeError| -> Error {
        let hint = hint(&error);
        let error = Error::new(error).context(option.clone());
        match hint {
            Some(hint) => CommandError::with_hint(error, hint).into(),
            None => error,
        }
    };
    match WorkTree::around(&git_program(), directory).map_err(failed)? {
        Some(work_tree) => work_tree.changed_since(commit).map_err(failed),
        None => {
            let shown = directory.display();
            let error = anyhow!("{option}: {shown} is not in a git repository");
            let hint = "run the command in a clone, or without --changed-since";
            Err(CommandError::with_hint(error, hint).into())
        }
    }
}

/// What to do if the changes are unknown. Errors that are not about `--changed-since` have hints of their own.
fn hint(error: &WorkTreeError) -> Option<String> {
    let hint = match error {
        WorkTreeError::NoDirectory(_) => "name directories that exist",
        WorkTreeError::ForeignOwner(foreign) => return Some(hints::foreign_repository(foreign)),
        WorkTreeError::UnknownCommit(_) | WorkTreeError::Unrelated(_) => {
            "name a commit, branch or tag that git knows here; \
             a clone without history needs `git fetch --unshallow`"
        }
        WorkTreeError::Git(GitError::Missing(_) | GitError::TooOld { .. }) => return None,
        WorkTreeError::Git(_) => "make `git status` work there, or run without --changed-since",
    };
    Some(hint.to_owned())
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
