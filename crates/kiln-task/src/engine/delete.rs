//! Removing revisions: proposing it, and doing it.

use kiln_krm::gotext::quote;

use super::error::{AccessError, CommitError};
use super::{ATTEMPTS, Engine, Located, is_passing, now};
use crate::git::{
    InvalidRef, NewCommit, Number, PackageChange, RefChange, RefName, deletion_message,
};
use crate::lifecycle::Lifecycle;
use crate::task::Task;

/// Why a revision was not removed, or proposed for it.
#[derive(Debug, thiserror::Error)]
pub enum DeleteError {
    /// Something that is needed cannot be had.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// It is already proposed.
    #[error("{0} is already proposed for deletion")]
    AlreadyProposed(String),
    /// Only what is published is proposed for deletion.
    #[error("can only propose published packages for deletion; package {0} is not published")]
    NotPublished(String),
    /// What is published is proposed for deletion first.
    #[error(
        "published PackageRevisions must be proposed for deletion by setting spec.lifecycle to 'DeletionProposed' prior to deletion"
    )]
    Published,
    /// Whether other packages come from it is not known.
    #[error(
        "cannot tell whether packages of repository {} come from it",
        quote(repository)
    )]
    Unasked {
        /// The repository that could not be asked.
        repository: String,
        /// Why.
        #[source]
        error: AccessError,
    },
    /// Other packages come from it.
    #[error("cannot delete package revision, it is referenced as upstream by: {0}")]
    Referenced(String),
    /// The tag is somebody else's.
    #[error("cannot delete package tagged with a tag that is not specific to the package: {0}")]
    ForeignTag(RefName),
    /// It cannot be written.
    #[error(transparent)]
    Commit(#[from] CommitError),
}

impl Engine<'_> {
    /// Proposes a published revision for deletion.
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

    /// Removes a draft, a proposal, or what was proposed for deletion. Of a published revision only the tag goes, the
    /// branch keeps its files; they go with the placeholder.
    pub fn delete(&self, name: &str) -> Result<(), DeleteError> {
        for attempt in 1.. {
            match self.try_delete(name) {
                Err(DeleteError::Commit(error)) if is_passing(&error) && attempt < ATTEMPTS => {}
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
        let gone = RefChange {
            name: revision.reference.clone(),
            old: located.snapshot.refs.get(&revision.reference).cloned(),
            new: None,
        };
        let changes = match revision.number {
            Number::Unpublished => vec![gone],
            Number::Placeholder => {
                let withdrawal = withdrawal(&located).map_err(CommitError::from)?;
                let commit = self.deletion_commit(&located)?;
                vec![
                    RefChange {
                        new: Some(commit),
                        ..gone
                    },
                    withdrawal,
                ]
            }
            Number::Unnumbered => return Err(DeleteError::ForeignTag(revision.reference.clone())),
            Number::Published(number) => {
                let package = &revision.name.package.path;
                let own = located.repository.layout.tag(package, number);
                if own.map_err(CommitError::from)? != revision.reference {
                    return Err(DeleteError::ForeignTag(revision.reference.clone()));
                }
                vec![gone, withdrawal(&located).map_err(CommitError::from)?]
            }
        };
        let published = located.repository.store.publish(&changes, self.atomicity);
        Ok(published.map_err(CommitError::from)?)
    }

    /// The commit that removes a package from the branch.
    fn deletion_commit(&self, located: &Located) -> Result<crate::git::ObjectId, CommitError> {
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

    /// Nobody may have the revision as upstream, in any repository.
    fn check_references(&self, name: &str) -> Result<(), DeleteError> {
        for config in self.repositories.configs() {
            match self.user_in(&config.name, name) {
                Ok(None) => {}
                Ok(Some(user)) => return Err(DeleteError::Referenced(user)),
                Err(error) => {
                    return Err(DeleteError::Unasked {
                        repository: config.name.clone(),
                        error,
                    });
                }
            }
        }
        Ok(())
    }

    /// A revision of a repository that has another as upstream.
    fn user_in(&self, repository: &str, name: &str) -> Result<Option<String>, AccessError> {
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

/// The revision that a package comes from.
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

/// The branch that says that a revision is to go.
fn deletion_branch(located: &Located) -> Result<RefName, InvalidRef> {
    let layout = &located.repository.layout;
    layout.deletion_proposed(&located.revision)
}

/// The change that removes that branch.
pub(super) fn withdrawal(located: &Located) -> Result<RefChange, InvalidRef> {
    let name = deletion_branch(located)?;
    Ok(RefChange {
        old: located.snapshot.refs.get(&name).cloned(),
        name,
        new: None,
    })
}
