//! Paths of files in packages, checked once.
//!
//! What is refused would lead out of the package, into git's own directory, or mean different things on different
//! systems.

use std::borrow::Borrow;
use std::fmt;

use kiln_krm::gotext::quote;

/// The path of a file in a package: relative, separated by slashes, without empty, `.`, `..` or `.git` segments.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PackagePath(String);

/// A path that is not one of a package.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("invalid relative path {}: {problem}", quote(path))]
pub struct UnsafePath {
    /// The path.
    pub path: String,
    /// What is wrong with it.
    pub problem: PathProblem,
}

/// What is wrong with a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PathProblem {
    /// There is nothing in it.
    #[error("it is empty")]
    Empty,
    /// It begins at the root of a file system.
    #[error("it is absolute")]
    Absolute,
    /// A segment is empty or `.`.
    #[error("it has an empty segment or a \".\"")]
    NotClean,
    /// A segment is `..`.
    #[error("it leads out of the package")]
    Outside,
    /// A segment is `.git`, in whatever case, or a name that some file systems take for it.
    #[error("it leads into git's own directory")]
    GitDirectory,
    /// It has a backslash, which some systems take for a slash.
    #[error("it has a backslash")]
    Backslash,
    /// It has a control character.
    #[error("it has a control character")]
    ControlCharacter,
    /// It is longer than any system takes.
    #[error("it is longer than {} bytes", LONGEST)]
    TooLong,
}

const LONGEST: usize = 4095;

impl PackagePath {
    /// Checks a path.
    pub fn new(path: impl Into<String>) -> Result<PackagePath, UnsafePath> {
        let path = path.into();
        match problem_of(&path) {
            Some(problem) => Err(UnsafePath { path, problem }),
            None => Ok(PackagePath(path)),
        }
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last segment.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// The directory that the file is in; empty for the package's own.
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
    if path.len() > LONGEST {
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

/// Whether a file system takes the name for `.git`: in another case, with characters that HFS ignores, or with what NTFS
/// drops at the end or has as a short name. Git refuses the same.
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
