//! Deletes revisions, and proposes them for deletion.

use kiln_go::quote;

use super::error::{AccessError, CommitError};
use super::{ATTEMPTS, Engine, LocatedRevision, is_temporary, now};
use crate::git::{
    InvalidRef, NewCommit, PackageChange, RefChange, RefName, RevisionNumber, deletion_message,
};
use crate::lifecycle::Lifecycle;
use crate::task::Task;

#[derive(Debug, thiserror::Error)]
pub enum DeleteError {
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error("{0} is already proposed for deletion")]
    AlreadyProposed(String),
    #[error("can only propose published packages for deletion; package {0} is not published")]
    NotPublished(String),
    #[error(
        "published PackageRevisions must be proposed for deletion by setting spec.lifecycle to 'DeletionProposed' prior to deletion"
    )]
    Published,
    /// A repository that may contain downstream packages cannot be read.
    #[error(
        "cannot check whether packages of repository {} have it as upstream",
        quote(repository)
    )]
    Unchecked {
        repository: String,
        #[source]
        error: AccessError,
    },
    #[error("cannot delete package revision, it is referenced as upstream by: {0}")]
    Referenced(String),
    #[error("cannot delete package tagged with a tag that is not specific to the package: {0}")]
    ForeignTag(RefName),
    #[error(transparent)]
    Commit(#[from] CommitError),
}

impl Engine<'_> {
    pub fn propose_delete(&self, name: &str) -> Result<(), DeleteError> {
        let located = self.find(name)?;
        match located.revision.lifecycle {
            Lifecycle::Published => {}
            Lifecycle::DeletionProposed => {
                return Err(DeleteError::AlreadyProposed(name.to_owned()));
            }
            _ => return Err(DeleteError::NotPublished(name.to_owned())),
        }
        let change = RefChange {
            name: deletion_branch(&located).map_err(CommitError::from)?,
            old: None,
            new: Some(located.revision.commit.clone()),
        };
        let published = located.repository.store.publish(&[change], self.atomicity);
        Ok(published.map_err(CommitError::from)?)
    }

    /// Deletes a draft, a proposal, or a revision proposed for deletion. For a published revision this deletes only the tag.
    /// Deleting the placeholder removes the files from the branch.
    pub fn delete(&self, name: &str) -> Result<(), DeleteError> {
        for attempt in 1.. {
            match self.try_delete(name) {
                Err(DeleteError::Commit(error)) if is_temporary(&error) && attempt < ATTEMPTS => {}
                deleted => return deleted,
            }
        }
        Ok(())
    }

    fn try_delete(&self, name: &str) -> Result<(), DeleteError> {
        let located = self.find(name)?;
        let revision = &located.revision;
        if revision.lifecycle == Lifecycle::Published {
            return Err(DeleteError::Published);
        }
        self.check_references(name)?;
        let deletion = RefChange {
            name: revision.reference.clone(),
            old: located.snapshot.refs.get(&revision.reference).cloned(),
            new: None,
        };
        let changes = match revision.number {
            RevisionNumber::Unpublished => vec![deletion],
            RevisionNumber::Placeholder => {
                let withdraw_deletion = withdraw_deletion(&located).map_err(CommitError::from)?;
                let commit = self.deletion_commit(&located)?;
                vec![
                    RefChange {
                        new: Some(commit),
                        ..deletion
                    },
                    withdraw_deletion,
                ]
            }
            RevisionNumber::Unnumbered => {
                return Err(DeleteError::ForeignTag(revision.reference.clone()));
            }
            RevisionNumber::Published(number) => {
                let package = &revision.name.package.path;
                let own = located.repository.layout.tag(package, number);
                if own.map_err(CommitError::from)? != revision.reference {
                    return Err(DeleteError::ForeignTag(revision.reference.clone()));
                }
                vec![
                    deletion,
                    withdraw_deletion(&located).map_err(CommitError::from)?,
                ]
            }
        };
        let published = located.repository.store.publish(&changes, self.atomicity);
        Ok(published.map_err(CommitError::from)?)
    }

    fn deletion_commit(
        &self,
        located: &LocatedRevision,
    ) -> Result<crate::git::ObjectId, CommitError> {
        let revision = &located.revision;
        let commit = NewCommit {
            parents: vec![revision.commit.clone()],
            package: &revision.directory,
            change: PackageChange::Remove,
            message: &deletion_message(&revision.directory),
            author: &self.author,
            time: now(),
        };
        Ok(located.repository.store.write_commit(&commit)?)
    }

    /// Checks that no package of any repository has the revision as upstream.
    fn check_references(&self, name: &str) -> Result<(), DeleteError> {
        for config in self.repositories.configs() {
            match self.downstream_in(&config.name, name) {
                Ok(None) => {}
                Ok(Some(user)) => return Err(DeleteError::Referenced(user)),
                Err(error) => {
                    return Err(DeleteError::Unchecked {
                        repository: config.name.clone(),
                        error,
                    });
                }
            }
        }
        Ok(())
    }

    /// A revision in a repository that has the given one as upstream.
    fn downstream_in(&self, repository: &str, name: &str) -> Result<Option<String>, AccessError> {
        let repository = self.repositories.get(repository)?;
        let snapshot = repository.snapshot()?;
        let revisions = || {
            let all = snapshot.revisions.iter();
            all.filter(|found| !found.is_placeholder())
        };
        let tasks = repository.tasks(revisions())?;
        let mut users = revisions().filter(|user| {
            let first = tasks.first(&user.directory, &user.name.workspace);
            first.and_then(upstream_of) == Some(name)
        });
        Ok(users.next().map(|user| user.name.to_string()))
    }
}

/// The upstream revision in a task.
fn upstream_of(task: &Task) -> Option<&str> {
    match task {
        Task::Clone(task) => {
            let revision = task.upstream.revision.as_ref();
            revision.map(|revision| revision.name.as_str())
        }
        Task::Upgrade(task) => Some(&task.new_upstream.name),
        _ => None,
    }
}

/// The branch that marks a revision as proposed for deletion.
fn deletion_branch(located: &LocatedRevision) -> Result<RefName, InvalidRef> {
    let layout = &located.repository.layout;
    layout.deletion_proposed(&located.revision)
}

/// The ref update that deletes that branch.
pub(super) fn withdraw_deletion(located: &LocatedRevision) -> Result<RefChange, InvalidRef> {
    let name = deletion_branch(located)?;
    Ok(RefChange {
        old: located.snapshot.refs.get(&name).cloned(),
        name,
        new: None,
    })
}
