//! Checked paths of files in packages.
//!
//! A path is refused if it leads out of the package or into the git directory, or means different things on different systems.

use std::borrow::Borrow;
use std::fmt;

use kiln_go::quote;

/// The path of a file in a package: relative, separated by slashes, without empty, `.`, `..` or `.git` segments.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PackagePath(String);

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("invalid relative path {}: {problem}", quote(path))]
pub struct UnsafePath {
    pub path: String,
    pub problem: PathProblem,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PathProblem {
    #[error("it is empty")]
    Empty,
    #[error("it is absolute")]
    Absolute,
    #[error("it has an empty segment or a \".\"")]
    NotClean,
    #[error("it leads out of the package")]
    Outside,
    /// A segment is `.git` in any case, or a name that some file systems take for it.
    #[error("it leads into the git directory")]
    GitDirectory,
    /// Some systems take a backslash for a slash.
    #[error("it has a backslash")]
    Backslash,
    #[error("it has a control character")]
    ControlCharacter,
    #[error("it is longer than {} bytes", MAX_LENGTH)]
    TooLong,
}

const MAX_LENGTH: usize = 4095;

impl PackagePath {
    pub fn new(path: impl Into<String>) -> Result<PackagePath, UnsafePath> {
        let path = path.into();
        match problem_of(&path) {
            Some(problem) => Err(UnsafePath { path, problem }),
            None => Ok(PackagePath(path)),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// The directory of the file; empty for the root of the package.
    pub fn directory(&self) -> &str {
        self.0
            .rsplit_once('/')
            .map_or("", |(directory, _)| directory)
    }
}

fn problem_of(path: &str) -> Option<PathProblem> {
    if path.is_empty() {
        return Some(PathProblem::Empty);
    }
    if path.len() > MAX_LENGTH {
        return Some(PathProblem::TooLong);
    }
    if path.starts_with('/') {
        return Some(PathProblem::Absolute);
    }
    if path.contains('\\') {
        return Some(PathProblem::Backslash);
    }
    if path.chars().any(char::is_control) {
        return Some(PathProblem::ControlCharacter);
    }
    path.split('/').find_map(|segment| match segment {
        "" | "." => Some(PathProblem::NotClean),
        ".." => Some(PathProblem::Outside),
        segment if is_git_directory(segment) => Some(PathProblem::GitDirectory),
        _ => None,
    })
}

/// Whether a file system takes the name for `.git`: in another case, with characters that HFS ignores, or with suffixes that NTFS
/// drops or a short name. Git refuses the same names.
fn is_git_directory(segment: &str) -> bool {
    let is_ignored = |c: &char| matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let seen: String = segment.chars().filter(|c| !is_ignored(c)).collect();
    let before_stream = seen.split(':').next().unwrap_or_default();
    let name = before_stream.trim_end_matches(['.', ' ']);
    name.eq_ignore_ascii_case(".git") || name.eq_ignore_ascii_case("git~1")
}

impl fmt::Display for PackagePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Borrow<str> for PackagePath {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for PackagePath {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl TryFrom<&str> for PackagePath {
    type Error = UnsafePath;

    fn try_from(path: &str) -> Result<PackagePath, UnsafePath> {
        PackagePath::new(path)
    }
}
