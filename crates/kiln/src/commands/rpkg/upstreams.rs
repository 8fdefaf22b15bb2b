//! Where packages come from: the revisions of known repositories that Kptfiles speak of.

use std::sync::Arc;

use kiln_krm::kptfile::GitLock;
use kiln_task::Repository;
use kiln_task::git::{Number, Revision, Snapshot};

/// What all repositories hold.
pub(super) struct Known(pub(super) Vec<(Arc<Repository>, Snapshot)>);

/// The upstream of a package.
pub(super) struct Upstream<'a> {
    pub(super) repository: &'a Arc<Repository>,
    /// The revision that the package was made from; none if it is gone, or was none.
    pub(super) current: Option<&'a Revision>,
    /// All published revisions of the upstream package, by number.
    pub(super) published: Vec<(u64, &'a Revision)>,
}

impl Known {
    /// A revision by its whole name.
    pub(super) fn find(&self, name: &str) -> Option<(&Arc<Repository>, &Revision)> {
        let mut all = self.0.iter();
        all.find_map(|(repository, snapshot)| Some((repository, snapshot.find(name)?)))
    }

    /// The upstream that a revision was made from, by the place that its Kptfile names.
    pub(super) fn upstream_of(&self, revision: &Revision) -> Option<Upstream<'_>> {
        let lock = lock_of(revision)?;
        let upstream =
            self.package(|repository, candidate| is_package(repository, candidate, &lock))?;
        let mut published = upstream.published.iter().map(|(_, candidate)| *candidate);
        let current = published.find(|candidate| candidate.reference.short() == lock.git_ref);
        Some(Upstream {
            current,
            ..upstream
        })
    }

    /// The upstream of which a revision is one.
    pub(super) fn upstream_with<'a>(&'a self, current: &'a Revision) -> Option<Upstream<'a>> {
        let package = &current.name.package;
        let upstream = self.package(|_, candidate| candidate.name.package == *package)?;
        Some(Upstream {
            current: Some(current),
            ..upstream
        })
    }

    /// The first package with published revisions that pass a test.
    fn package(&self, is_it: impl Fn(&Repository, &Revision) -> bool) -> Option<Upstream<'_>> {
        self.0.iter().find_map(|(repository, snapshot)| {
            let candidates = snapshot.revisions.iter();
            let mut published: Vec<(u64, &Revision)> = candidates
                .filter(|candidate| is_it(repository, candidate))
                .filter_map(|candidate| match candidate.number {
                    Number::Published(number) => Some((number, candidate)),
                    _ => None,
                })
                .collect();
            published.sort_by_key(|(number, _)| *number);
            (!published.is_empty()).then_some(Upstream {
                repository,
                current: None,
                published,
            })
        })
    }
}

/// The place that a revision's Kptfile names.
pub(super) fn lock_of(revision: &Revision) -> Option<GitLock> {
    revision.kptfile().upstream_lock?.git
}

/// Whether a revision is one of the package that a lock speaks of.
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
