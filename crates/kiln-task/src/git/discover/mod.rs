//! Finding the packages and revisions of a repository: one list of refs, and one conversation with git about those of them
//! that nobody has looked at before.

mod look;
mod memory;

use std::collections::{BTreeMap, HashMap};

use super::id::{ObjectId, RefName};
use super::layout::{Layout, Meaning, number_of};
use super::program::GitError;
use super::revision::{Number, Revision};
use super::store::GitStore;
use crate::lifecycle::Lifecycle;
use crate::names::PackageName;
use look::{Packages, Place, Seen, Sight, look_at, packages_in};
use memory::Memory;

/// What a repository holds at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// All revisions, by package, number, lifecycle and name.
    pub revisions: Vec<Revision>,
    /// All branches and tags.
    pub refs: BTreeMap<RefName, ObjectId>,
    /// Where the branch of published packages stands; none if there is no such branch.
    pub head: Option<ObjectId>,
    /// What was passed over, and why.
    pub warnings: Vec<String>,
}

impl Snapshot {
    /// Looks at everything that a repository has.
    pub fn take(store: &GitStore, layout: &Layout, repository: &str) -> Result<Snapshot, GitError> {
        let refs = store.refs()?;
        let mut search = Search {
            layout,
            repository,
            revisions: Vec::new(),
            warnings: Vec::new(),
        };
        search.find_all(&refs, store)?;
        let head = refs.get(&layout.branch).cloned();
        Ok(search.finish(refs, head))
    }

    /// The revision of a name. A name that several have is that of the one furthest in its life, placeholders last.
    pub fn find(&self, name: &str) -> Option<&Revision> {
        let same = self
            .revisions
            .iter()
            .filter(|revision| revision.name.to_string() == name);
        same.max_by_key(|revision| (!revision.is_placeholder(), revision.lifecycle))
    }

    /// All revisions of a package.
    pub fn of_package<'a>(
        &'a self,
        package: &'a PackageName,
    ) -> impl Iterator<Item = &'a Revision> {
        let revisions = self.revisions.iter();
        revisions.filter(move |revision| revision.name.package == *package)
    }

    /// The latest published revision of a package.
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

struct Search<'a> {
    layout: &'a Layout,
    repository: &'a str,
    revisions: Vec<Revision>,
    warnings: Vec<String>,
}

impl Search<'_> {
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
        let mut memory = Memory::load(store.memory_file());
        let places = candidates.iter();
        let places: Vec<Place> = places
            .map(|candidate| Place::new(candidate.id, candidate.directory))
            .collect();
        let seen = look_at(store, &places, &mut memory)?;
        self.add_candidates(&candidates, seen);
        if let Some((name, id)) = head {
            let place = Place::new(id, &self.layout.directory);
            let packages = packages_in(store, &place, &mut memory)?;
            self.add_placeholders(name, id, packages);
        }
        if !store.is_partial() {
            memory.save();
        }
        Ok(())
    }

    fn add_candidates(&mut self, candidates: &[Candidate<'_>], seen: Vec<Seen>) {
        for (candidate, seen) in candidates.iter().zip(seen) {
            match seen {
                Ok(sight) => self.add_candidate(candidate, sight),
                // Tags are there for many things.
                Err(_) if candidate.name.as_tag().is_some() => {}
                Err(unseen) => {
                    let name = candidate.name;
                    self.warnings.push(format!("skipping {name}: {unseen}"));
                }
            }
        }
    }

    fn add_candidate(&mut self, candidate: &Candidate<'_>, sight: Sight) {
        let (number, workspace) = match candidate.lifecycle {
            Lifecycle::Draft | Lifecycle::Proposed => {
                (Number::Unpublished, candidate.last.to_owned())
            }
            _ => match number_of(candidate.last) {
                None => (Number::Unnumbered, candidate.last.to_owned()),
                Some(number) => {
                    let workspace = match sight.workspace.as_str() {
                        "" => format!("v{number}"),
                        workspace => workspace.to_owned(),
                    };
                    (Number::Published(number), workspace)
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
            commit: sight.commit,
            directory: candidate.directory.to_owned(),
            author: Some((sight.author, sight.time)),
            kptfile: sight.kptfile,
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
                number: Number::Placeholder,
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

    fn finish(self, refs: BTreeMap<RefName, ObjectId>, head: Option<ObjectId>) -> Snapshot {
        let mut revisions = self.revisions;
        let mut latest: HashMap<PackageName, u64> = HashMap::new();
        for revision in &mut revisions {
            let deletion = || self.layout.deletion_proposed(revision);
            if revision.lifecycle == Lifecycle::Published
                && deletion().is_ok_and(|branch| refs.contains_key(&branch))
            {
                revision.lifecycle = Lifecycle::DeletionProposed;
            }
            if let Number::Published(number) = revision.number {
                let highest = latest.entry(revision.name.package.clone()).or_default();
                *highest = number.max(*highest);
            }
        }
        for revision in &mut revisions {
            let highest = latest.get(&revision.name.package).copied();
            revision.is_latest =
                highest.is_some_and(|highest| revision.number == Number::Published(highest));
        }
        revisions.sort_by(|a, b| {
            let key = |revision: &Revision| (revision.number.as_i64(), revision.lifecycle);
            let packages = a.name.package.path.cmp(&b.name.package.path);
            let numbers = packages.then_with(|| key(a).cmp(&key(b)));
            numbers.then_with(|| a.name.workspace.cmp(&b.name.workspace))
        });
        Snapshot {
            revisions,
            refs,
            head,
            warnings: self.warnings,
        }
    }
}
