//! Finding the packages and revisions of a repository: one list of refs, and one conversation with git about all of them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use kiln_krm::kptfile::{FILE_NAME, Kptfile};
use kiln_krm::record::{Reader as RecordReader, UnknownKeys};

use super::annotation::Annotation;
use super::id::{ObjectId, RefName};
use super::layout::{Layout, Meaning, file_in, number_of};
use super::objects::{Commit, Identity, Object, ObjectKind, Reader, Tree};
use super::program::GitError;
use super::store::GitStore;
use crate::lifecycle::Lifecycle;
use crate::names::{PackageName, RevisionName};

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

/// A revision of a package.
#[derive(Clone, Debug)]
pub struct Revision {
    /// Its name.
    pub name: RevisionName,
    /// Its number.
    pub number: Number,
    /// Where it stands.
    pub lifecycle: Lifecycle,
    /// Whether no published revision of the package has a higher number.
    pub is_latest: bool,
    /// The branch or tag.
    pub reference: RefName,
    /// The commit, by which one knows whether somebody has changed the revision.
    pub commit: ObjectId,
    /// The package's directory from the root of the repository.
    pub directory: String,
    /// Who made the commit, and when in seconds since 1970; not known of placeholders.
    pub author: Option<(Identity, i64)>,
    kptfile: Arc<[u8]>,
}

/// The number of a revision.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Number {
    /// It stands for what is on the branch, whatever revision that is.
    Placeholder,
    /// It has a tag that is no number.
    Unnumbered,
    /// It is not published yet.
    Unpublished,
    /// Its number.
    Published(u64),
}

impl Number {
    /// The number as Porch has it: -1 where there is none, 0 before publication.
    pub fn as_i64(self) -> i64 {
        match self {
            Number::Placeholder | Number::Unnumbered => -1,
            Number::Unpublished => 0,
            Number::Published(number) => i64::try_from(number).unwrap_or(i64::MAX),
        }
    }
}

impl Revision {
    /// Whether it stands for what is on the branch.
    pub fn is_placeholder(&self) -> bool {
        self.number == Number::Placeholder
    }

    /// The text of its Kptfile.
    pub fn kptfile_text(&self) -> &[u8] {
        &self.kptfile
    }

    /// Its Kptfile, without what a Kptfile should not have; empty if it cannot be read at all.
    pub fn kptfile(&self) -> Kptfile {
        read_kptfile(&self.kptfile)
    }
}

/// Whatever can be read of a Kptfile.
pub(crate) fn read_kptfile(text: &[u8]) -> Kptfile {
    let document = kiln_yaml::parse_first(text).ok().flatten();
    let kptfile =
        document.and_then(|document| RecordReader::document(&document, UnknownKeys::Ignore).ok());
    kptfile.unwrap_or_default()
}

impl Snapshot {
    /// Looks at everything that a repository has.
    pub fn take(store: &GitStore, layout: &Layout, repository: &str) -> Result<Snapshot, GitError> {
        let refs = store.refs()?;
        store.with_reader(|reader| {
            let mut search = Search {
                layout,
                repository,
                deletions: HashSet::new(),
                revisions: Vec::new(),
                warnings: Vec::new(),
            };
            search.find_all(&refs, reader)?;
            let head = refs.get(&layout.branch).cloned();
            Ok(search.finish(refs, head))
        })
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
    last: &'a str,
    lifecycle: Lifecycle,
}

struct Search<'a> {
    layout: &'a Layout,
    repository: &'a str,
    deletions: HashSet<(String, String)>,
    revisions: Vec<Revision>,
    warnings: Vec<String>,
}

impl Search<'_> {
    fn find_all(
        &mut self,
        refs: &BTreeMap<RefName, ObjectId>,
        reader: &mut Reader,
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
                Meaning::DeletionProposed(directory, last) => {
                    self.deletions
                        .insert((directory.to_owned(), last.to_owned()));
                    continue;
                }
                Meaning::Draft(directory, last) => (directory, last, Lifecycle::Draft),
                Meaning::Proposed(directory, last) => (directory, last, Lifecycle::Proposed),
                Meaning::Tag(directory, last) => (directory, last, Lifecycle::Published),
            };
            candidates.push(Candidate {
                name,
                id,
                directory,
                last,
                lifecycle,
            });
        }
        self.add_candidates(&candidates, reader)?;
        if let Some((name, id)) = head {
            self.add_placeholders(name, id, reader)?;
        }
        Ok(())
    }

    fn add_candidates(
        &mut self,
        candidates: &[Candidate<'_>],
        reader: &mut Reader,
    ) -> Result<(), GitError> {
        let inside: Vec<(&Candidate<'_>, &str)> = candidates
            .iter()
            .filter_map(|candidate| {
                let package = self.layout.package_at(candidate.directory)?;
                Some((candidate, package))
            })
            .collect();
        let requests: Vec<String> = inside
            .iter()
            .flat_map(|(candidate, _)| {
                let commit = format!("{}^{{commit}}", candidate.id);
                [
                    commit,
                    file_in(candidate.id, candidate.directory, FILE_NAME),
                ]
            })
            .collect();
        let mut commit = None;
        let mut answers = Vec::with_capacity(inside.len());
        reader.read_all(&requests, LARGEST, |place, object| match place % 2 {
            0 => commit = object,
            _ => answers.push((commit.take(), object)),
        })?;
        for ((candidate, package), (commit, kptfile)) in inside.into_iter().zip(answers) {
            self.add_candidate(candidate, package, commit, kptfile);
        }
        Ok(())
    }

    fn add_candidate(
        &mut self,
        candidate: &Candidate<'_>,
        package: &str,
        commit: Option<Object>,
        kptfile: Option<Object>,
    ) {
        let kptfile = kptfile.filter(|object| object.kind == ObjectKind::Blob);
        let Some(kptfile) = kptfile.and_then(|object| object.bytes) else {
            let name = candidate.name;
            self.warnings
                .push(format!("skipping {name}: Kptfile not found"));
            return;
        };
        let parsed = commit.and_then(|object| Some((object.id, Commit::parse(&object.bytes?)?)));
        let Some((id, commit)) = parsed else {
            let name = candidate.name;
            self.warnings
                .push(format!("skipping {name}: it is no commit"));
            return;
        };
        let (number, workspace) = match candidate.lifecycle {
            Lifecycle::Draft | Lifecycle::Proposed => {
                (Number::Unpublished, candidate.last.to_owned())
            }
            _ => match number_of(candidate.last) {
                None => (Number::Unnumbered, candidate.last.to_owned()),
                Some(number) => {
                    let annotations = Annotation::read_all(&commit.message);
                    let mut own = annotations
                        .into_iter()
                        .filter(|annotation| annotation.package == candidate.directory);
                    let named = own.find(|annotation| !annotation.workspace.is_empty());
                    let workspace = named.map(|annotation| annotation.workspace);
                    (
                        Number::Published(number),
                        workspace.unwrap_or_else(|| format!("v{number}")),
                    )
                }
            },
        };
        let package = PackageName::new(self.repository, package);
        self.revisions.push(Revision {
            name: package.revision(workspace),
            number,
            lifecycle: candidate.lifecycle,
            is_latest: false,
            reference: candidate.name.clone(),
            commit: id,
            directory: candidate.directory.to_owned(),
            author: Some((commit.author, commit.author_time)),
            kptfile: kptfile.into(),
        });
    }

    /// Every directory with a Kptfile on the branch is a package; there are none inside of one.
    fn add_placeholders(
        &mut self,
        branch: &RefName,
        head: &ObjectId,
        reader: &mut Reader,
    ) -> Result<(), GitError> {
        let root = match self.layout.directory.as_str() {
            "" => format!("{head}^{{tree}}"),
            directory => format!("{head}:{directory}"),
        };
        let mut level = vec![(self.layout.directory.clone(), root)];
        let mut packages: Vec<(String, String)> = Vec::new();
        let mut depth = 0;
        while !level.is_empty() && depth < DEEPEST {
            depth += 1;
            let requests: Vec<String> = level.iter().map(|(_, request)| request.clone()).collect();
            let mut below = Vec::new();
            reader.read_all(&requests, LARGEST, |place, object| {
                let directory = level.get(place).map(|(directory, _)| directory.as_str());
                let tree = object.filter(|object| object.kind == ObjectKind::Tree);
                let tree = tree.and_then(|object| Tree::parse(&object.bytes?, &object.id));
                if let (Some(directory), Some(tree)) = (directory, tree) {
                    enter(directory, &tree, &mut packages, &mut below);
                }
            })?;
            level = below;
        }
        let requests: Vec<String> = packages
            .iter()
            .map(|(_, kptfile)| kptfile.clone())
            .collect();
        let mut kptfiles = Vec::with_capacity(packages.len());
        reader.read_all(&requests, LARGEST, |_, object| {
            kptfiles.push(object.and_then(|object| object.bytes));
        })?;
        for ((directory, _), kptfile) in packages.into_iter().zip(kptfiles) {
            let (Some(path), Some(kptfile)) = (self.layout.package_at(&directory), kptfile) else {
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
                kptfile: kptfile.into(),
            });
        }
        Ok(())
    }

    fn finish(self, refs: BTreeMap<RefName, ObjectId>, head: Option<ObjectId>) -> Snapshot {
        let mut revisions = self.revisions;
        let mut latest: HashMap<PackageName, u64> = HashMap::new();
        for revision in &mut revisions {
            let last = match revision.number {
                Number::Placeholder => revision.reference.short().to_owned(),
                Number::Published(number) => format!("v{number}"),
                _ => revision.name.workspace.clone(),
            };
            let key = (revision.directory.clone(), last);
            if revision.lifecycle == Lifecycle::Published && self.deletions.contains(&key) {
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

/// Kptfiles, commits and directories are not larger than this.
const LARGEST: u64 = 16 * 1024 * 1024;
/// Directories are not deeper than this.
const DEEPEST: usize = 100;

/// A directory is a package, or its directories are looked at.
fn enter(
    directory: &str,
    tree: &Tree,
    packages: &mut Vec<(String, String)>,
    below: &mut Vec<(String, String)>,
) {
    let kptfile = tree.entry(FILE_NAME);
    let kptfile = kptfile.filter(|entry| entry.mode.starts_with("100"));
    if let Some(kptfile) = kptfile {
        packages.push((directory.to_owned(), kptfile.id.to_string()));
        return;
    }
    for entry in tree.entries.iter().filter(|entry| entry.is_directory()) {
        if let Ok(name) = std::str::from_utf8(&entry.name) {
            let path = match directory {
                "" => name.to_owned(),
                directory => format!("{directory}/{name}"),
            };
            below.push((path, entry.id.to_string()));
        }
    }
}
