//! The version of git, and the oldest one that works.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use super::{GitError, GitProgram};

/// The version of a git program, as it prints it: `2.39.5 (Apple Git-154)`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GitVersion(String);

/// The programs, each with its search path, that have been found new enough. Git is asked once per process.
static CHECKED: Mutex<BTreeSet<(PathBuf, Option<OsString>)>> = Mutex::new(BTreeSet::new());

impl GitVersion {
    /// Git 2.31 is the first release that reads settings from `GIT_CONFIG_COUNT`. Older ones ignore that variable and would run
    /// the hooks and filters of repositories. They also lack what else is used: `fetch --no-write-fetch-head` (2.29) and
    /// transactions of `update-ref` (2.27).
    pub const OLDEST: (u32, u32) = (2, 31);

    /// Whether kiln works with it. A version that cannot be parsed is accepted.
    pub fn is_supported(&self) -> bool {
        parse(&self.0).is_none_or(|version| version >= GitVersion::OLDEST)
    }
}

impl fmt::Display for GitVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl GitProgram {
    /// The version of the program.
    pub fn version(&self) -> Result<GitVersion, GitError> {
        let output = self.run("version", &[], b"")?;
        let text = String::from_utf8_lossy(&output);
        let version = text.trim().trim_start_matches("git version ");
        Ok(GitVersion(version.to_owned()))
    }

    /// Refuses a git that is older than [`GitVersion::OLDEST`].
    pub(in crate::git) fn check_version(&self) -> Result<(), GitError> {
        let mut variables = self.variables.iter();
        let path = variables.find(|(name, _)| name == "PATH");
        let key = (self.program.clone(), path.map(|(_, value)| value.clone()));
        let mut checked = CHECKED.lock().unwrap_or_else(PoisonError::into_inner);
        if checked.contains(&key) {
            return Ok(());
        }
        let version = self.version()?;
        if !version.is_supported() {
            return Err(GitError::TooOld { version });
        }
        checked.insert(key);
        Ok(())
    }
}

/// The first two numbers of `2.39.5`, `2.39.5 (Apple Git-154)`, `2.45.1.windows.1` or `2.40.GIT`.
fn parse(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split(['.', ' ']).map(|part| part.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

#[cfg(test)]
mod tests {
    use super::{GitVersion, parse};

    #[test]
    fn versions_of_all_distributions_are_parsed() {
        for (text, version) in [
            ("2.39.5", Some((2, 39))),
            ("2.39.5 (Apple Git-154)", Some((2, 39))),
            ("2.45.1.windows.1", Some((2, 45))),
            ("2.40.GIT", Some((2, 40))),
            ("2.30-rc1", None),
            ("unknown", None),
            ("", None),
        ] {
            assert_eq!(parse(text), version, "{text}");
        }
    }

    #[test]
    fn old_versions_are_not_supported() {
        for (text, expected) in [
            ("2.31.0", true),
            ("2.39.5 (Apple Git-154)", true),
            ("3.0.windows.1", true),
            ("of the future", true),
            ("2.30.9", false),
            ("1.99", false),
        ] {
            let version = GitVersion(text.to_owned());
            assert_eq!(version.is_supported(), expected, "{text}");
        }
    }
}
