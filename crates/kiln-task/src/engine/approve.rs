//! Approves a revision: its files go to the branch, and it gets a number and a tag.

use super::error::{AccessError, CommitError, UnmetGate};
use super::{ATTEMPTS, Engine, LocatedRevision, is_temporary, now, unmet_gates};
use crate::git::{
    GitError, NewCommit, ObjectId, PackageChange, PublishError, RefChange, RevisionNumber,
    approval_message, highest_number, is_revision,
};
use crate::lifecycle::Lifecycle;

/// What to do if the package on the branch has changed since the draft was created.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ApproveOverwrite {
    #[default]
    Refuse,
    Force,
}

#[derive(Debug, thiserror::Error)]
pub enum ApproveError {
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error("cannot change approval from {0} to Published")]
    NotProposed(Lifecycle),
    #[error("readiness conditions not met")]
    NotReady { name: String, gates: Vec<UnmetGate> },
    #[error("branch {0:?} doesn't exist")]
    NoBranch(String),
    /// Another revision was published since the draft was created.
    #[error(
        "package {package} has changed on branch {branch} since {name} was created; approving {name} would overwrite that change"
    )]
    Overwrites {
        package: String,
        branch: String,
        name: String,
    },
    /// The repository cannot update branch and tag atomically.
    #[error(
        "the repository cannot update several refs at once, so a failed approval could leave it inconsistent"
    )]
    NotAtomic,
    #[error(transparent)]
    Commit(#[from] CommitError),
}

impl Engine<'_> {
    /// Publishes a proposal and returns its number. A revision proposed for deletion becomes published again.
    pub fn approve(
        &self,
        name: &str,
        overwrite: ApproveOverwrite,
    ) -> Result<RevisionNumber, ApproveError> {
        for attempt in 1.. {
            match self.try_approve(name, overwrite) {
                Err(ApproveError::Commit(error)) if is_temporary(&error) && attempt < ATTEMPTS => {}
                Err(ApproveError::Commit(CommitError::Publish(PublishError::NotAtomic))) => {
                    return Err(ApproveError::NotAtomic);
                }
                approved => return approved,
            }
        }
        Err(AccessError::NotFound(name.to_owned()).into())
    }

    /// One attempt. Each reads the branch, the numbers and the revision again.
    fn try_approve(
        &self,
        name: &str,
        overwrite: ApproveOverwrite,
    ) -> Result<RevisionNumber, ApproveError> {
        let located = self.find(name)?;
        let revision = &located.revision;
        match revision.lifecycle {
            Lifecycle::Proposed => {}
            Lifecycle::DeletionProposed => {
                let withdraw_deletion =
                    super::delete::withdraw_deletion(&located).map_err(CommitError::from)?;
                self.publish_changes(&located, &[withdraw_deletion])?;
                return Ok(revision.number);
            }
            lifecycle => return Err(ApproveError::NotProposed(lifecycle)),
        }
        let gates = unmet_gates(revision);
        if !gates.is_empty() {
            return Err(ApproveError::NotReady {
                name: name.to_owned(),
                gates,
            });
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
        Ok(RevisionNumber::Published(number))
    }

    fn publish_changes(
        &self,
        located: &LocatedRevision,
        changes: &[RefChange],
    ) -> Result<(), CommitError> {
        Ok(located.repository.store.publish(changes, self.atomicity)?)
    }

    /// Checks that the branch exists, and that the package on it has not changed since the draft was created.
    fn check_branch(
        &self,
        located: &LocatedRevision,
        overwrite: ApproveOverwrite,
    ) -> Result<(), ApproveError> {
        let revision = &located.revision;
        let store = &located.repository.store;
        let branch = located.repository.layout.branch.short().to_owned();
        let Some(head) = &located.snapshot.head else {
            // In an empty repository the first approval creates the branch.
            let mut refs = located.snapshot.refs.keys();
            return match refs.all(|name| name.as_tag().is_some() || is_revision(name)) {
                true => Ok(()),
                false => Err(ApproveError::NoBranch(branch)),
            };
        };
        if overwrite == ApproveOverwrite::Force {
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
        located: &LocatedRevision,
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

/// The next number: numbers of deleted revisions are not used again.
fn next_number(located: &LocatedRevision) -> Result<u64, GitError> {
    let package = &located.revision.name.package;
    let numbers = located.snapshot.of_package(package);
    let numbers = numbers.filter_map(|revision| match revision.number {
        RevisionNumber::Published(number) => Some(number),
        _ => None,
    });
    let existing = numbers.max().unwrap_or(0);
    let deleted = match &located.snapshot.head {
        Some(head) => highest_number(&located.repository.store, head, &located.revision.directory)?,
        None => 0,
    };
    Ok(existing.max(deleted).saturating_add(1))
}
