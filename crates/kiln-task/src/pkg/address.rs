//! Addresses of packages: `REPO[.git]/DIRECTORY[@REF]`, and web addresses of one well-known host.

/// A package in a git repository, as the command line names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PackageAddress {
    /// The address of the repository, without `.git`.
    pub repo: String,
    /// The directory, cleaned; `/` for the whole repository.
    pub directory: String,
    /// The requested branch, tag or commit; `None` for the default branch.
    pub git_ref: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AddressError<E> {
    #[error("ambiguous repo/dir@version specify '.git' in argument")]
    Ambiguous,
    #[error("ambiguous repo/dir@version specify '.git' in argument: {0}")]
    AmbiguousBranch(String),
    #[error("invalid GitHub url: {0}")]
    WebAddress(String),
    #[error("invalid GitHub pkg url: {0}")]
    WebPath(String),
    /// The branches of the repository cannot be listed.
    #[error("{0}")]
    Branches(E),
}

/// The host whose web addresses are understood.
const WEB_HOST: &str = "github.com";

impl PackageAddress {
    /// Parses an address. `branches` lists the branches of a repository, which decides whether a web address is ambiguous.
    pub fn parse<E>(
        text: &str,
        branches: impl FnOnce(&str) -> Result<Vec<String>, E>,
    ) -> Result<PackageAddress, AddressError<E>> {
        if let Some((repo, rest)) = split_git_suffix(text) {
            return Ok(address(repo, rest));
        }
        if text.contains(WEB_HOST) {
            let text = from_web_address(text, branches)?;
            if let Some((repo, rest)) = split_git_suffix(&text) {
                return Ok(address(repo, rest));
            }
            // A web address without a directory: `REPO.git@REF`.
            return without_directory(&text);
        }
        if text.matches("://").count() > 1 || text.matches('@').count() > 2 {
            return Err(AddressError::Ambiguous);
        }
        without_directory(text)
    }
}

/// Splits at the first `.git` that is followed by a slash or the end.
fn split_git_suffix(text: &str) -> Option<(&str, &str)> {
    let ends = text.match_indices(".git");
    ends.map(|(at, found)| (text.split_at(at).0, text.split_at(at + found.len()).1))
        .find_map(|(repo, rest)| match rest.strip_prefix('/') {
            Some(rest) => Some((repo, rest)),
            None => rest.is_empty().then_some((repo, "")),
        })
}

/// The address of a repository and `DIRECTORY[@REF]`. Text behind a second `@` is ignored.
fn address(repo: &str, rest: &str) -> PackageAddress {
    let mut parts = rest.split('@');
    let directory = parts.next().unwrap_or_default();
    let git_ref = parts
        .next()
        .map(|git_ref| git_ref.strip_suffix('/').unwrap_or(git_ref));
    PackageAddress {
        repo: repo.to_owned(),
        directory: clean(&format!("/{directory}")),
        git_ref: git_ref
            .filter(|git_ref| !git_ref.is_empty())
            .map(str::to_owned),
    }
}

/// `SCHEME://REPO.git[@REF]`
fn without_directory<E>(text: &str) -> Result<PackageAddress, AddressError<E>> {
    let (repo, git_ref) = match text.split_once('@') {
        Some((repo, git_ref)) => (repo, Some(git_ref)),
        None => (text, None),
    };
    let repo = match repo.strip_suffix(".git") {
        Some(bare) if repo.contains("://") => bare,
        _ => return Err(AddressError::Ambiguous),
    };
    Ok(PackageAddress {
        repo: repo.to_owned(),
        directory: "/".to_owned(),
        git_ref: git_ref
            .filter(|git_ref| !git_ref.is_empty())
            .map(str::to_owned),
    })
}

/// The address with `.git` that a web address stands for.
fn from_web_address<E>(
    text: &str,
    branches: impl FnOnce(&str) -> Result<Vec<String>, E>,
) -> Result<String, AddressError<E>> {
    let text = text.strip_suffix('/').unwrap_or(text);
    let parts = text.split_once("://");
    let Some((scheme, path)) = parts.filter(|(_, path)| path.starts_with(WEB_HOST)) else {
        return Err(AddressError::WebAddress(text.to_owned()));
    };
    let segments: Vec<&str> = path.split('/').collect();
    let [host, owner, name, below @ ..] = &segments[..] else {
        return Err(AddressError::WebPath(text.to_owned()));
    };
    let repo = format!("{scheme}://{host}/{owner}/{name}");
    Ok(match below {
        [] => format!("{repo}.git"),
        ["tree", git_ref, directory @ ..] => {
            let found = branches(&repo).map_err(AddressError::Branches)?;
            // The branch may have slashes, and then its name ends somewhere in the path.
            let beginning = format!("{git_ref}/");
            if found.iter().any(|branch| branch.contains(&beginning)) {
                return Err(AddressError::AmbiguousBranch(text.to_owned()));
            }
            match directory.join("/").as_str() {
                "" => format!("{repo}.git@{git_ref}"),
                directory => format!("{repo}.git/{directory}@{git_ref}"),
            }
        }
        directory => format!("{repo}.git/{}", directory.join("/")),
    })
}

/// Go's `path.Clean` of an absolute path.
fn clean(path: &str) -> String {
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop();
            }
            segment => segments.push(segment),
        }
    }
    format!("/{}", segments.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, branches: &[&str]) -> Result<PackageAddress, AddressError<String>> {
        PackageAddress::parse(text, |_| {
            Ok(branches.iter().map(|name| (*name).to_owned()).collect())
        })
    }

    #[track_caller]
    fn check(text: &str, repo: &str, directory: &str, git_ref: Option<&str>) {
        let expected = PackageAddress {
            repo: repo.to_owned(),
            directory: directory.to_owned(),
            git_ref: git_ref.map(str::to_owned),
        };
        assert_eq!(
            parse(text, &["main", "feature/foo"]),
            Ok(expected),
            "{text}"
        );
    }

    #[track_caller]
    fn refused(text: &str, message: &str) {
        let error = parse(text, &["main", "feature/foo"]).expect_err("it is refused");
        assert_eq!(error.to_string(), message, "{text}");
    }

    #[test]
    fn addresses_with_a_suffix() {
        check(
            "file:///r/up.git/web@v1",
            "file:///r/up",
            "/web",
            Some("v1"),
        );
        check("file:///r/up.git/web", "file:///r/up", "/web", None);
        check("file:///r/up.git", "file:///r/up", "/", None);
        check("file:///r/up.git/", "file:///r/up", "/", None);
        check("file:///r/up.git/@v1", "file:///r/up", "/", Some("v1"));
        check("file:///r/up.git@v1", "file:///r/up", "/", Some("v1"));
        check("/r/up.git/web@v1", "/r/up", "/web", Some("v1"));
        check("git@h:a/up.git/web@v1", "git@h:a/up", "/web", Some("v1"));
        check("https://h/a.git/b/c@v1", "https://h/a", "/b/c", Some("v1"));
        check(
            "https://h/a.git/b//c/../d/@v1",
            "https://h/a",
            "/b/d",
            Some("v1"),
        );
        check("https://h/a.git/b@v1@v2", "https://h/a", "/b", Some("v1"));
        check("https://h/a.git/b@v1/", "https://h/a", "/b", Some("v1"));
        check("https://h/a.git/b@", "https://h/a", "/b", None);
        check("https://h/a.git/../..@v1", "https://h/a", "/", Some("v1"));
        // The first suffix counts, and not the beginning of a longer name.
        check("https://h/a.git/b.git/c", "https://h/a", "/b.git/c", None);
        check("https://h/a.gitx/b.git/c", "https://h/a.gitx/b", "/c", None);
        check(
            "https://github.com/o/r.git/d@v1",
            "https://github.com/o/r",
            "/d",
            Some("v1"),
        );
    }

    #[test]
    fn web_addresses() {
        let repo = "https://github.com/o/r";
        check("https://github.com/o/r", repo, "/", None);
        check("https://github.com/o/r/", repo, "/", None);
        check("https://github.com/o/r/tree/main", repo, "/", Some("main"));
        check(
            "https://github.com/o/r/tree/main/a/b",
            repo,
            "/a/b",
            Some("main"),
        );
        check("https://github.com/o/r/a/b", repo, "/a/b", None);
        check("https://github.com/o/r/tree", repo, "/tree", None);
        refused(
            "https://github.com/o/r/tree/feature/foo/a",
            "ambiguous repo/dir@version specify '.git' in argument: https://github.com/o/r/tree/feature/foo/a",
        );
        refused("github.com/o/r", "invalid GitHub url: github.com/o/r");
        refused(
            "https://x.github.com/o/r",
            "invalid GitHub url: https://x.github.com/o/r",
        );
        refused(
            "https://github.com/o",
            "invalid GitHub pkg url: https://github.com/o",
        );
        let failing = PackageAddress::parse("https://github.com/o/r/tree/x", |_| Err("down"));
        assert_eq!(failing, Err(AddressError::Branches("down")));
    }

    #[test]
    fn other_addresses_are_ambiguous() {
        let message = "ambiguous repo/dir@version specify '.git' in argument";
        for text in [
            "",
            "-",
            "a/b",
            "a/b@v1",
            "https://h/a",
            "https://h/a@v1",
            "h.git@v1",
            "https://a://b.git@x",
            "x@a@b@c",
        ] {
            refused(text, message);
        }
    }
}
