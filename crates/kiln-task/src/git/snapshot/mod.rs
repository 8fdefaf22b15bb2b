//! Snapshots: all packages and revisions of a repository. Takes one listing of refs, and one batch of reads for the refs that
//! are not cached.

mod cache;
mod scan;

use std::collections::{BTreeMap, HashMap};

use super::id::{ObjectId, RefName};
use super::layout::{Meaning, RepositoryLayout, number_of};
use super::program::GitError;
use super::revision::{Revision, RevisionNumber};
use super::store::GitStore;
use crate::lifecycle::Lifecycle;
use crate::names::PackageName;
use cache::SnapshotCache;
use scan::{CommitDirectory, FoundPackage, Packages, ScanResult, packages_in, scan};

/// The contents of a repository at one moment.
#[derive(Clone, Debug)]
pub struct RepositorySnapshot {
    /// Sorted by package, number, lifecycle and name.
    pub revisions: Vec<Revision>,
    pub refs: BTreeMap<RefName, ObjectId>,
    /// The commit of the branch of published packages; `None` if there is no such branch.
    pub head: Option<ObjectId>,
    /// What was skipped, and why.
    pub warnings: Vec<String>,
}

impl RepositorySnapshot {
    pub fn take(
        store: &GitStore,
        layout: &RepositoryLayout,
        repository: &str,
    ) -> Result<RepositorySnapshot, GitError> {
        let refs = store.refs()?;
        let mut discovery = Discovery {
            layout,
            repository,
            revisions: Vec::new(),
            warnings: Vec::new(),
        };
        discovery.find_all(&refs, store)?;
        let head = refs.get(&layout.branch).cloned();
        Ok(discovery.finish(refs, head))
    }

    /// The revision with a name. Of several, the one furthest in its lifecycle, placeholders last.
    pub fn find(&self, name: &str) -> Option<&Revision> {
        let same = self
            .revisions
            .iter()
            .filter(|revision| revision.name.to_string() == name);
        same.max_by_key(|revision| (!revision.is_placeholder(), revision.lifecycle))
    }

    pub fn of_package<'a>(
        &'a self,
        package: &'a PackageName,
    ) -> impl Iterator<Item = &'a Revision> {
        let revisions = self.revisions.iter();
        revisions.filter(move |revision| revision.name.package == *package)
    }

    pub fn latest<'a>(&'a self, package: &'a PackageName) -> Option<&'a Revision> {
        self.of_package(package).find(|revision| revision.is_latest)
    }
}

/// A ref that may be a revision.
struct Candidate<'a> {
    name: &'a RefName,
    id: &'a ObjectId,
    directory: &'a str,
    package: &'a str,
    last: &'a str,
    lifecycle: Lifecycle,
}

struct Discovery<'a> {
    layout: &'a RepositoryLayout,
    repository: &'a str,
    revisions: Vec<Revision>,
    warnings: Vec<String>,
}

impl Discovery<'_> {
    fn find_all(
        &mut self,
        refs: &BTreeMap<RefName, ObjectId>,
        store: &GitStore,
    ) -> Result<(), GitError> {
        let mut candidates = Vec::new();
        let mut head = None;
        for (name, id) in refs {
            let Some(meaning) = self.layout.meaning(name) else {
                continue;
            };
            let (directory, last, lifecycle) = match meaning {
                Meaning::Branch => {
                    head = Some((name, id));
                    continue;
                }
                Meaning::Draft(directory, last) => (directory, last, Lifecycle::Draft),
                Meaning::Proposed(directory, last) => (directory, last, Lifecycle::Proposed),
                Meaning::Tag(directory, last) => (directory, last, Lifecycle::Published),
            };
            if let Some(package) = self.layout.package_at(directory) {
                candidates.push(Candidate {
                    name,
                    id,
                    directory,
                    package,
                    last,
                    lifecycle,
                });
            }
        }
        let mut cache = SnapshotCache::load(store.snapshot_cache_file());
        let directories: Vec<CommitDirectory> = candidates
            .iter()
            .map(|candidate| CommitDirectory::new(candidate.id, candidate.directory))
            .collect();
        let results = scan(store, &directories, &mut cache)?;
        self.add_candidates(&candidates, results);
        if let Some((name, id)) = head {
            let directory = CommitDirectory::new(id, &self.layout.directory);
            let packages = packages_in(store, &directory, &mut cache)?;
            self.add_placeholders(name, id, packages);
        }
        if !store.is_partial() {
            cache.save();
        }
        Ok(())
    }

    fn add_candidates(&mut self, candidates: &[Candidate<'_>], results: Vec<ScanResult>) {
        for (candidate, result) in candidates.iter().zip(results) {
            match result {
                Ok(found) => self.add_candidate(candidate, found),
                // Most repositories also have tags that are not revisions.
                Err(_) if candidate.name.as_tag().is_some() => {}
                Err(reason) => {
                    let name = candidate.name;
                    self.warnings.push(format!("skipping {name}: {reason}"));
                }
            }
        }
    }

    fn add_candidate(&mut self, candidate: &Candidate<'_>, found: FoundPackage) {
        let (number, workspace) = match candidate.lifecycle {
            Lifecycle::Draft | Lifecycle::Proposed => {
                (RevisionNumber::Unpublished, candidate.last.to_owned())
            }
            _ => match number_of(candidate.last) {
                None => (RevisionNumber::Unnumbered, candidate.last.to_owned()),
                Some(number) => {
                    let workspace = match found.workspace.as_str() {
                        "" => format!("v{number}"),
                        workspace => workspace.to_owned(),
                    };
                    (RevisionNumber::Published(number), workspace)
                }
            },
        };
        let package = PackageName::new(self.repository, candidate.package);
        self.revisions.push(Revision {
            name: package.revision(workspace),
            number,
            lifecycle: candidate.lifecycle,
            is_latest: false,
            reference: candidate.name.clone(),
            commit: found.commit,
            directory: candidate.directory.to_owned(),
            author: Some((found.author, found.time)),
            kptfile: found.kptfile,
        });
    }

    fn add_placeholders(&mut self, branch: &RefName, head: &ObjectId, packages: Packages) {
        for (directory, kptfile) in packages {
            let Some(path) = self.layout.package_at(&directory) else {
                let message = format!(
                    "skipping the package at {directory:?} of {}",
                    branch.short()
                );
                self.warnings.push(message);
                continue;
            };
            let package = PackageName::new(self.repository, path);
            self.revisions.push(Revision {
                name: package.revision(branch.short()),
                number: RevisionNumber::Placeholder,
                lifecycle: Lifecycle::Published,
                is_latest: false,
                reference: branch.clone(),
                commit: head.clone(),
                directory,
                author: None,
                kptfile,
            });
        }
    }

    fn finish(
        self,
        refs: BTreeMap<RefName, ObjectId>,
        head: Option<ObjectId>,
    ) -> RepositorySnapshot {
        let mut revisions = self.revisions;
        let mut latest: HashMap<PackageName, u64> = HashMap::new();
        for revision in &mut revisions {
            let deletion = || self.layout.deletion_proposed(revision);
            if revision.lifecycle == Lifecycle::Published
                && deletion().is_ok_and(|branch| refs.contains_key(&branch))
            {
                revision.lifecycle = Lifecycle::DeletionProposed;
            }
            if let RevisionNumber::Published(number) = revision.number {
                let highest = latest.entry(revision.name.package.clone()).or_default();
                *highest = number.max(*highest);
            }
        }
        for revision in &mut revisions {
            let highest = latest.get(&revision.name.package).copied();
            revision.is_latest = highest
                .is_some_and(|highest| revision.number == RevisionNumber::Published(highest));
        }
        revisions.sort_by(|a, b| {
            let key = |revision: &Revision| (revision.number.as_i64(), revision.lifecycle);
            let packages = a.name.package.path.cmp(&b.name.package.path);
            let numbers = packages.then_with(|| key(a).cmp(&key(b)));
            numbers.then_with(|| a.name.workspace.cmp(&b.name.workspace))
        });
        RepositorySnapshot {
            revisions,
            refs,
            head,
            warnings: self.warnings,
        }
    }
}
