//! Whose directories git may run in.
//!
//! Git runs programs that the configuration of a repository names, for example to fetch. It checks the owner only of repositories
//! that it finds itself, and not of one that it is given by name, as kiln gives it those in the cache.

use std::path::{Path, PathBuf};

/// A directory of the cache, or a repository that git refuses, belongs to another user.
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
pub(super) fn check_owner(directory: &Path) -> Result<(), ForeignDirectory> {
    match owner_and_user(directory) {
        Some((owner, own)) if !is_trusted(owner, own) => Err(ForeignDirectory {
            path: directory.to_owned(),
            owner,
        }),
        _ => Ok(()),
    }
}

/// A file or directory of another user, also of the administrator: git trusts neither in a repository that it finds itself.
pub(super) fn foreign(path: &Path) -> Option<ForeignDirectory> {
    let (owner, own) = owner_and_user(path)?;
    (owner != own).then(|| ForeignDirectory {
        path: path.to_owned(),
        owner,
    })
}

/// The owner of a file or directory and the user of this process; `None` if it cannot be read.
#[cfg(unix)]
fn owner_and_user(path: &Path) -> Option<(u32, u32)> {
    use std::os::unix::fs::MetadataExt;

    let owner = path.metadata().ok()?.uid();
    Some((owner, rustix::process::geteuid().as_raw()))
}

#[cfg(not(unix))]
fn owner_and_user(_path: &Path) -> Option<(u32, u32)> {
    None
}

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
