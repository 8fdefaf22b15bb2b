//! A revision together with its repository.

use std::sync::Arc;

use super::error::AccessError;
use crate::git::{RepositorySnapshot, Revision};
use crate::names::RevisionName;
use crate::repository::{Repositories, Repository};

/// A revision, its repository, and the snapshot that it was found in.
pub struct LocatedRevision {
    pub repository: Arc<Repository>,
    pub snapshot: RepositorySnapshot,
    pub revision: Revision,
}

impl Repositories {
    /// Finds a revision by its full name. Fetches if the repository is remote.
    pub fn find(&self, name: &str) -> Result<LocatedRevision, AccessError> {
        let not_found = || AccessError::NotFound(name.to_owned());
        let repository = RevisionName::repository_of(name).ok_or_else(not_found)?;
        let repository = self.get(repository)?;
        let snapshot = repository.snapshot()?;
        let revision = snapshot.find(name).cloned().ok_or_else(not_found)?;
        Ok(LocatedRevision {
            repository,
            snapshot,
            revision,
        })
    }
}
