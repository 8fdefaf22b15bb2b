//! Which git repository a path, an address or the current directory means, and its name.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use kiln_task::RepositoryConfig;
use kiln_task::git::RepositoryLocation;

/// The name of the repository that `--repo` means. One that is not registered is added to `configs`.
pub(super) fn find_or_add(repo: &str, configs: &mut Vec<RepositoryConfig>) -> Result<String> {
    if configs.iter().any(|config| config.name == repo) {
        return Ok(repo.to_owned());
    }
    Ok(add(parse_location(repo)?, configs))
}

/// The name of the repository around the current directory, which is added to `configs` if it is not registered.
pub(super) fn add_around_current_directory(configs: &mut Vec<RepositoryConfig>) -> Option<String> {
    let root = repository_root(&std::env::current_dir().ok()?)?;
    Some(add(RepositoryLocation::Path(root), configs))
}

/// Reads a path or an address. As with git, an existing path is a path, even with a colon in its name.
pub(crate) fn parse_location(repo: &str) -> Result<RepositoryLocation> {
    if is_address(repo) && !Path::new(repo).exists() {
        return Ok(RepositoryLocation::Address(repo.to_owned()));
    }
    let path = std::path::absolute(repo)?;
    match repository_root(&path) {
        Some(root) => Ok(RepositoryLocation::Path(root)),
        None if path.exists() => bail!("{} is not in a git repository", path.display()),
        None => Err(anyhow!("repository {repo:?} does not exist")),
    }
}

/// `https://…`, `ssh://…`, `file://…` and git's own `user@host:path`.
fn is_address(repo: &str) -> bool {
    let before_slash = repo.split('/').next().unwrap_or_default();
    repo.contains("://") || before_slash.contains(':')
}

fn add(location: RepositoryLocation, configs: &mut Vec<RepositoryConfig>) -> String {
    let same = configs.iter().find(|config| config.location == location);
    if let Some(same) = same {
        return same.name.clone();
    }
    let base = default_name(&location);
    let mut name = base.clone();
    let mut number = 2;
    while configs.iter().any(|config| config.name == name) {
        name = format!("{base}-{number}");
        number += 1;
    }
    let mut config = RepositoryConfig::new(&name, location);
    if let RepositoryLocation::Path(root) = &config.location
        && let Some(branch) = branch_other_than_main(root)
    {
        config.branch = branch;
    }
    configs.push(config);
    name
}

/// The last part of the path or address, in the characters that names of repositories may have.
pub(crate) fn default_name(location: &RepositoryLocation) -> String {
    let text = match location {
        RepositoryLocation::Path(path) => path.display().to_string(),
        RepositoryLocation::Address(address) => address.clone(),
    };
    let text = text.trim_end_matches('/');
    let text = text.strip_suffix("/.git").unwrap_or(text);
    let last = text.rsplit(['/', ':']).next().unwrap_or_default();
    let last = last.strip_suffix(".git").unwrap_or(last);
    let allowed = |c: char| match c.to_ascii_lowercase() {
        c @ ('a'..='z' | '0'..='9' | '-') => c,
        _ => '-',
    };
    let name: String = last.chars().map(allowed).collect();
    match name.trim_matches('-') {
        "" => "repository".to_owned(),
        name => name.chars().take(63).collect(),
    }
}

/// The directory of the repository that contains a directory.
fn repository_root(directory: &Path) -> Option<PathBuf> {
    let is_bare = |path: &Path| {
        path.join("HEAD").is_file() && path.join("objects").is_dir() && path.join("refs").is_dir()
    };
    let directory = std::fs::canonicalize(directory).ok()?;
    let found = directory
        .ancestors()
        .find(|path| path.join(".git").exists() || is_bare(path))?;
    Some(found.to_owned())
}

/// The branch of `HEAD` in a repository without a branch `main`.
fn branch_other_than_main(root: &Path) -> Option<String> {
    let git = match root.join(".git") {
        inner if inner.is_dir() => inner,
        _ => root.to_owned(),
    };
    let packed = std::fs::read_to_string(git.join("packed-refs")).unwrap_or_default();
    let has_main = git.join("refs/heads/main").exists()
        || packed
            .lines()
            .any(|line| line.ends_with(" refs/heads/main"));
    if has_main {
        return None;
    }
    let head = std::fs::read_to_string(git.join("HEAD")).ok()?;
    let branch = head.trim().strip_prefix("ref: refs/heads/")?;
    Some(branch.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repositories_are_named_after_their_path_or_address() {
        let name = |address: &str| default_name(&RepositoryLocation::Address(address.to_owned()));
        assert_eq!(name("https://example.com/a/Blue_Prints.git"), "blue-prints");
        assert_eq!(name("git@example.com:team/x.git/"), "x");
        assert_eq!(name("https://example.com/"), "example-com");
        assert_eq!(
            default_name(&RepositoryLocation::Path("/srv/git/deploy".into())),
            "deploy"
        );
        assert_eq!(
            default_name(&RepositoryLocation::Path("/".into())),
            "repository"
        );
    }

    #[test]
    fn addresses_are_distinguished_from_paths() {
        for address in ["https://x/y", "file:///x", "git@host:x", "host:x/y"] {
            assert!(is_address(address), "{address}");
        }
        for path in [".", "/srv/x", "../a:b/c", "a/b:c"] {
            assert!(!is_address(path), "{path}");
        }
    }
}
