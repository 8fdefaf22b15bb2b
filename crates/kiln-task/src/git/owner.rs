//! Whose directories git may run in.
//!
//! Git runs programs that the configuration of a repository names, for example to fetch. It checks the owner only of repositories
//! that it finds itself, and not of one that it is given by name, as kiln gives it those in the cache.

use std::path::{Path, PathBuf};

/// A directory of the cache belongs to another user.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "{} belongs to another user (uid {owner}), and its settings could make git run programs of that user",
    path.display()
)]
pub struct ForeignDirectory {
    pub path: PathBuf,
    pub owner: u32,
}

/// Refuses a directory of another user. What belongs to the administrator is as safe as git itself. One that cannot be read is left to
/// the command that uses it.
#[cfg(unix)]
pub(super) fn check_owner(directory: &Path) -> Result<(), ForeignDirectory> {
    use std::os::unix::fs::MetadataExt;

    let Ok(metadata) = directory.metadata() else {
        return Ok(());
    };
    let own = rustix::process::geteuid().as_raw();
    match is_trusted(metadata.uid(), own) {
        true => Ok(()),
        false => Err(ForeignDirectory {
            path: directory.to_owned(),
            owner: metadata.uid(),
        }),
    }
}

#[cfg(not(unix))]
pub(super) fn check_owner(_directory: &Path) -> Result<(), ForeignDirectory> {
    Ok(())
}

#[cfg(unix)]
fn is_trusted(owner: u32, own: u32) -> bool {
    owner == own || owner == 0
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn only_the_user_and_the_administrator_are_trusted() {
        for (owner, own, trusted) in [
            (1000, 1000, true),
            (0, 1000, true),
            (0, 0, true),
            (1001, 1000, false),
            (1000, 0, false),
        ] {
            assert_eq!(is_trusted(owner, own), trusted, "{owner} for {own}");
        }
        let own = tempfile::tempdir().unwrap();
        assert_eq!(check_owner(own.path()), Ok(()));
        assert_eq!(check_owner(&own.path().join("missing")), Ok(()));
    }
}
