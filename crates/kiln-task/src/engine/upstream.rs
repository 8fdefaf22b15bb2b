//! Finds the upstream of a revision in the registered repositories.

use std::collections::HashSet;
use std::sync::Arc;

use kiln_krm::kptfile::GitLock;

use super::error::AccessError;
use super::{Engine, LocatedRevision};
use crate::git::{Revision, Tasks, without_credentials};
use crate::image::SCHEME;
use crate::repository::Repository;
use crate::task::Task;

impl Engine<'_> {
    /// The upstream of a revision: the one that its first task or that of the copied revision names, else the one that its
    /// Kptfile names. `None` if no registered revision matches. A named revision that does not exist is an error.
    pub fn upstream_of(
        &self,
        located: &LocatedRevision,
    ) -> Result<Option<LocatedRevision>, AccessError> {
        let revisions = located.snapshot.of_package(&located.revision.name.package);
        let tasks = located.repository.tasks(revisions)?;
        if let Some(name) = named_upstream(located, &tasks) {
            return self.find(&name).map(Some);
        }
        let lock = located.revision.kptfile().upstream_lock;
        match lock.and_then(|lock| lock.git) {
            Some(lock) => self.find_locked(&lock),
            None => Ok(None),
        }
    }

    /// The registered revision that a lock names.
    pub fn find_locked(&self, lock: &GitLock) -> Result<Option<LocatedRevision>, AccessError> {
        for config in self.repositories.configs() {
            let repository = self.repositories.get(&config.name)?;
            if !is_same_address(repository.store.address(), &lock.repo) {
                continue;
            }
            let snapshot = repository.snapshot()?;
            let directory = lock.directory.trim_matches('/');
            let is_match = |revision: &&Revision| {
                let is_named = revision.reference.short() == lock.git_ref;
                let is_commit = revision.commit.as_str() == lock.commit;
                revision.directory == directory
                    && !revision.is_placeholder()
                    && (is_commit || is_named)
            };
            // A ref may have moved since, so a matching commit takes precedence.
            let mut found: Vec<&Revision> = snapshot.revisions.iter().filter(is_match).collect();
            found.sort_by_key(|revision| revision.commit.as_str() != lock.commit);
            if let Some(revision) = found.first().map(|revision| (*revision).clone()) {
                return Ok(Some(LocatedRevision {
                    repository: Arc::<Repository>::clone(&repository),
                    snapshot,
                    revision,
                }));
            }
        }
        Ok(None)
    }
}

/// The upstream that the first task names, followed through copies.
fn named_upstream(located: &LocatedRevision, tasks: &Tasks) -> Option<String> {
    let mut seen = HashSet::new();
    let mut revision = &located.revision;
    while seen.insert(revision.name.clone()) {
        match tasks.first(&revision.directory, &revision.name.workspace)? {
            Task::Clone(task) => {
                let upstream = task.upstream.revision.as_ref();
                return upstream.map(|upstream| upstream.name.clone());
            }
            Task::Upgrade(task) => {
                let name = &task.new_upstream.name;
                return (!name.starts_with(SCHEME)).then(|| name.clone());
            }
            Task::Edit(task) => {
                let source = task.source.as_ref()?;
                revision = located.snapshot.find(&source.name)?;
            }
            _ => return None,
        }
    }
    None
}

/// Whether two addresses mean the same repository. Addresses in locks always end in `.git`, known ones need not.
pub(super) fn is_same_address(known: &str, locked: &str) -> bool {
    let bare = |address: &str| {
        let address = without_credentials(address);
        let address = address.strip_prefix("file://").unwrap_or(&address);
        let address = address.trim_end_matches('/');
        address.strip_suffix(".git").unwrap_or(address).to_owned()
    };
    bare(known) == bare(locked)
}
