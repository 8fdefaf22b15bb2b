//! Publishing a revision: its files on the branch, a number, a tag.

use super::error::{AccessError, CommitError};
use super::{ATTEMPTS, Engine, Located, is_passing, is_ready, now};
use crate::git::{
    GitError, NewCommit, Number, ObjectId, PackageChange, PublishError, RefChange,
    approval_message, highest_number, is_revision,
};
use crate::lifecycle::Lifecycle;

/// What happens if the branch has other files of the package than those that the draft began with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Overwrite {
    /// Nothing is published.
    #[default]
    Refuse,
    /// They are replaced.
    Force,
}

/// Why a revision was not published.
#[derive(Debug, thiserror::Error)]
pub enum ApproveError {
    /// Something that is needed cannot be had.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// It has not been proposed.
    #[error("cannot change approval from {0} to Published")]
    NotProposed(Lifecycle),
    /// Conditions that it waits for are not true.
    #[error("readiness conditions not met")]
    NotReady,
    /// There is no branch to publish on.
    #[error("branch {0:?} doesn't exist")]
    NoBranch(String),
    /// Another revision was published since the draft began.
    #[error(
        "package {package} has changed on branch {branch} since {name} was begun; approving it would overwrite that"
    )]
    Overwrites {
        /// The package.
        package: String,
        /// The branch.
        branch: String,
        /// The revision.
        name: String,
    },
    /// The repository cannot change branch and tag together.
    #[error(
        "the repository cannot change several references at once, so that an approval could be left half done"
    )]
    NotAtomic,
    /// It cannot be written.
    #[error(transparent)]
    Commit(#[from] CommitError),
}

impl Engine<'_> {
    /// Publishes what was proposed; its number. What was proposed for deletion is kept.
    pub fn approve(&self, name: &str, overwrite: Overwrite) -> Result<Number, ApproveError> {
        for attempt in 1.. {
            match self.try_approve(name, overwrite) {
                Err(ApproveError::Commit(error)) if is_passing(&error) && attempt < ATTEMPTS => {}
                Err(ApproveError::Commit(CommitError::Publish(PublishError::NotAtomic))) => {
                    return Err(ApproveError::NotAtomic);
                }
                approved => return approved,
            }
        }
        Err(AccessError::NotFound(name.to_owned()).into())
    }

    /// Everything is looked at anew in each attempt: branch, numbers, and the revision itself.
    fn try_approve(&self, name: &str, overwrite: Overwrite) -> Result<Number, ApproveError> {
        let located = self.find(name)?;
        let revision = &located.revision;
        match revision.lifecycle {
            Lifecycle::Proposed => {}
            Lifecycle::DeletionProposed => {
                let withdrawal = super::delete::withdrawal(&located).map_err(CommitError::from)?;
                self.publish_changes(&located, &[withdrawal])?;
                return Ok(revision.number);
            }
            lifecycle => return Err(ApproveError::NotProposed(lifecycle)),
        }
        if !is_ready(revision) {
            return Err(ApproveError::NotReady);
        }
        let head = located.snapshot.head.clone();
        self.check_branch(&located, overwrite)?;
        let number = next_number(&located).map_err(AccessError::from)?;
        let commit = self.approval_commit(&located, head.as_ref(), number)?;
        let layout = &located.repository.layout;
        let tag = layout.tag(&revision.name.package.path, number);
        let changes = [
            RefChange {
                name: layout.branch.clone(),
                old: head,
                new: Some(commit.clone()),
            },
            RefChange {
                name: tag.map_err(CommitError::from)?,
                old: None,
                new: Some(commit),
            },
            RefChange {
                name: revision.reference.clone(),
                old: Some(revision.commit.clone()),
                new: None,
            },
        ];
        self.publish_changes(&located, &changes)?;
        Ok(Number::Published(number))
    }

    fn publish_changes(&self, located: &Located, changes: &[RefChange]) -> Result<(), CommitError> {
        Ok(located.repository.store.publish(changes, self.atomicity)?)
    }

    /// The branch must be there, and have the package as the draft found it.
    fn check_branch(&self, located: &Located, overwrite: Overwrite) -> Result<(), ApproveError> {
        let revision = &located.revision;
        let store = &located.repository.store;
        let branch = located.repository.layout.branch.short().to_owned();
        let Some(head) = &located.snapshot.head else {
            // In an empty repository the first approval makes the branch.
            let mut refs = located.snapshot.refs.keys();
            return match refs.all(|name| name.as_tag().is_some() || is_revision(name)) {
                true => Ok(()),
                false => Err(ApproveError::NoBranch(branch)),
            };
        };
        if overwrite == Overwrite::Force {
            return Ok(());
        }
        let tree_at = |commit: &ObjectId| store.tree_of(commit, &revision.directory);
        let check = || -> Result<bool, GitError> {
            let now = tree_at(head)?;
            if now.is_none() || now == tree_at(&revision.commit)? {
                return Ok(true);
            }
            let before = match store.merge_base(head, &revision.commit)? {
                Some(base) => tree_at(&base)?,
                None => None,
            };
            Ok(now == before)
        };
        match check().map_err(AccessError::from)? {
            true => Ok(()),
            false => Err(ApproveError::Overwrites {
                package: revision.name.package.path.clone(),
                branch,
                name: revision.name.to_string(),
            }),
        }
    }

    fn approval_commit(
        &self,
        located: &Located,
        head: Option<&ObjectId>,
        number: u64,
    ) -> Result<ObjectId, ApproveError> {
        let revision = &located.revision;
        let store = &located.repository.store;
        let tree = store.tree_of(&revision.commit, &revision.directory);
        let tree = tree.map_err(AccessError::from)?;
        let tree = tree.ok_or_else(|| AccessError::NotFound(revision.name.to_string()))?;
        let message = approval_message(&revision.directory, &revision.name.workspace, number);
        let commit = NewCommit {
            parents: head
                .into_iter()
                .chain([&revision.commit])
                .cloned()
                .collect(),
            package: &revision.directory,
            change: PackageChange::Tree(tree),
            message: &message,
            author: &self.author,
            time: now(),
        };
        Ok(store.write_commit(&commit).map_err(CommitError::from)?)
    }
}

/// One more than any revision of the package has or had.
fn next_number(located: &Located) -> Result<u64, GitError> {
    let package = &located.revision.name.package;
    let numbers = located.snapshot.of_package(package);
    let numbers = numbers.filter_map(|revision| match revision.number {
        Number::Published(number) => Some(number),
        _ => None,
    });
    let there = numbers.max().unwrap_or(0);
    let once = match &located.snapshot.head {
        Some(head) => highest_number(&located.repository.store, head, &located.revision.directory)?,
        None => 0,
    };
    Ok(there.max(once).saturating_add(1))
}
