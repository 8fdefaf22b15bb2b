//! The oldest git that works.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use super::{GitError, GitProgram};

/// Git 2.31 is the first release that reads settings from `GIT_CONFIG_COUNT`. Older ones ignore that variable and would run the
/// hooks and filters of repositories. They also lack what else is used: `fetch --no-write-fetch-head` (2.29) and transactions
/// of `update-ref` (2.27).
pub(super) const OLDEST: (u32, u32) = (2, 31);

/// The programs, each with its search path, that have been found new enough. Git is asked once per process.
static CHECKED: Mutex<BTreeSet<(PathBuf, Option<OsString>)>> = Mutex::new(BTreeSet::new());

impl GitProgram {
    /// Refuses a git that is older than [`OLDEST`]. A version that cannot be parsed is accepted.
    pub(in crate::git) fn check_version(&self) -> Result<(), GitError> {
        let mut variables = self.variables.iter();
        let path = variables.find(|(name, _)| name == "PATH");
        let key = (self.program.clone(), path.map(|(_, value)| value.clone()));
        let mut checked = CHECKED.lock().unwrap_or_else(PoisonError::into_inner);
        if checked.contains(&key) {
            return Ok(());
        }
        let output = self.run("version", &[], b"")?;
        let text = String::from_utf8_lossy(&output);
        let version = text.trim().trim_start_matches("git version ");
        if parse(version).is_some_and(|version| version < OLDEST) {
            return Err(GitError::TooOld {
                version: version.to_owned(),
            });
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
    use super::parse;

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
}
