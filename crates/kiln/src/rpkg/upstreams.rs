//! The upstream packages that Kptfiles name, in the known repositories.

use std::sync::Arc;

use kiln_krm::kptfile::GitLock;
use kiln_task::Repository;
use kiln_task::git::{RepositorySnapshot, Revision, RevisionNumber};

/// The contents of all repositories.
pub(crate) struct AllRevisions(pub(crate) Vec<(Arc<Repository>, RepositorySnapshot)>);

/// The upstream package of a revision.
pub(crate) struct UpstreamPackage<'a> {
    pub(crate) repository: &'a Arc<Repository>,
    /// The upstream revision that the package was made from, if it still exists and was published.
    pub(crate) current: Option<&'a Revision>,
    /// All published revisions of the upstream package, sorted by number.
    pub(crate) published: Vec<(u64, &'a Revision)>,
}

impl AllRevisions {
    pub(crate) fn find(&self, name: &str) -> Option<(&Arc<Repository>, &Revision)> {
        let mut all = self.0.iter();
        all.find_map(|(repository, snapshot)| Some((repository, snapshot.find(name)?)))
    }

    /// The upstream package that the Kptfile of a revision names.
    pub(crate) fn upstream_of(&self, revision: &Revision) -> Option<UpstreamPackage<'_>> {
        let lock = lock_of(revision)?;
        let upstream =
            self.package(|repository, candidate| is_package(repository, candidate, &lock))?;
        let mut published = upstream.published.iter().map(|(_, candidate)| *candidate);
        let current = published.find(|candidate| candidate.reference.short() == lock.git_ref);
        Some(UpstreamPackage {
            current,
            ..upstream
        })
    }

    /// The package of an upstream revision.
    pub(crate) fn upstream_with<'a>(
        &'a self,
        current: &'a Revision,
    ) -> Option<UpstreamPackage<'a>> {
        let package = &current.name.package;
        let upstream = self.package(|_, candidate| candidate.name.package == *package)?;
        Some(UpstreamPackage {
            current: Some(current),
            ..upstream
        })
    }

    /// The first package with published revisions that match.
    fn package(
        &self,
        is_match: impl Fn(&Repository, &Revision) -> bool,
    ) -> Option<UpstreamPackage<'_>> {
        self.0.iter().find_map(|(repository, snapshot)| {
            let candidates = snapshot.revisions.iter();
            let mut published: Vec<(u64, &Revision)> = candidates
                .filter(|candidate| is_match(repository, candidate))
                .filter_map(|candidate| match candidate.number {
                    RevisionNumber::Published(number) => Some((number, candidate)),
                    _ => None,
                })
                .collect();
            published.sort_by_key(|(number, _)| *number);
            (!published.is_empty()).then_some(UpstreamPackage {
                repository,
                current: None,
                published,
            })
        })
    }
}

/// The git lock in the Kptfile of a revision.
pub(crate) fn lock_of(revision: &Revision) -> Option<GitLock> {
    revision.kptfile().upstream_lock?.git
}

/// Whether a revision belongs to the package that a lock names.
fn is_package(repository: &Repository, candidate: &Revision, lock: &GitLock) -> bool {
    let (_, own) = repository.locks(candidate);
    let directory = |text: &str| text.trim_matches('/').to_owned();
    let address = |text: &str| {
        text.trim_end_matches('/')
            .trim_end_matches(".git")
            .to_owned()
    };
    own.git.is_some_and(|own| {
        address(&own.repo) == address(&lock.repo)
            && directory(&own.directory) == directory(&lock.directory)
    })
}
