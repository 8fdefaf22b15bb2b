//! Looking at commits: is there a package in a directory, and what does it say?

use std::sync::Arc;

use kiln_krm::kptfile::FILE_NAME;

use super::memory::Memory;
use crate::git::annotation::Annotation;
use crate::git::id::ObjectId;
use crate::git::layout::file_in;
use crate::git::objects::{Commit, Identity, Object, ObjectKind, Reader, Tree};
use crate::git::program::GitError;
use crate::git::store::GitStore;

/// A directory of a commit, or of what a tag stands for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Place {
    pub(super) id: ObjectId,
    pub(super) directory: String,
}

impl Place {
    pub(super) fn new(id: &ObjectId, directory: &str) -> Place {
        Place {
            id: id.clone(),
            directory: directory.to_owned(),
        }
    }
}

/// A package in a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Sight {
    pub(super) commit: ObjectId,
    pub(super) author: Identity,
    pub(super) time: i64,
    /// What the commit says about the package's workspace; empty if nothing.
    pub(super) workspace: String,
    pub(super) kptfile: Arc<[u8]>,
}

/// Why there is no package.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum Unseen {
    #[error("Kptfile not found")]
    NoKptfile,
    #[error("it is no commit")]
    NoCommit,
}

pub(super) type Seen = Result<Sight, Unseen>;

/// Packages by directory, with their Kptfiles.
pub(super) type Packages = Vec<(String, Arc<[u8]>)>;

/// Kptfiles, commits and directories are not larger than this.
const LARGEST: u64 = 16 * 1024 * 1024;
/// Directories are not deeper than this.
const DEEPEST: usize = 100;

/// Looks at places; only at those that are not remembered.
pub(super) fn look_at(
    store: &GitStore,
    places: &[Place],
    memory: &mut Memory,
) -> Result<Vec<Seen>, GitError> {
    let unknown: Vec<&Place> = places.iter().filter(|place| !memory.knows(place)).collect();
    if !unknown.is_empty() {
        let seen = store.with_reader(|reader| read(reader, &unknown))?;
        for (place, seen) in unknown.into_iter().zip(seen) {
            memory.remember(place, seen);
        }
    }
    let seen = places.iter().map(|place| memory.recall(place));
    Ok(seen
        .map(|seen| seen.unwrap_or(Err(Unseen::NoCommit)))
        .collect())
}

fn read(reader: &mut Reader, places: &[&Place]) -> Result<Vec<Seen>, GitError> {
    let requests: Vec<String> = places
        .iter()
        .flat_map(|place| {
            let commit = format!("{}^{{commit}}", place.id);
            [commit, file_in(&place.id, &place.directory, FILE_NAME)]
        })
        .collect();
    let mut commit = None;
    let mut answers = Vec::with_capacity(places.len());
    reader.read_all(&requests, LARGEST, |place, object| match place % 2 {
        0 => commit = object,
        _ => answers.push((commit.take(), object)),
    })?;
    let seen = places.iter().zip(answers);
    Ok(seen
        .map(|(place, (commit, kptfile))| sight(&place.directory, commit, kptfile))
        .collect())
}

fn sight(directory: &str, commit: Option<Object>, kptfile: Option<Object>) -> Seen {
    let kptfile = kptfile.filter(|object| object.kind == ObjectKind::Blob);
    let kptfile = kptfile.and_then(|object| object.bytes);
    let kptfile = kptfile.ok_or(Unseen::NoKptfile)?;
    let parsed = commit.and_then(|object| Some((object.id, Commit::parse(&object.bytes?)?)));
    let (id, commit) = parsed.ok_or(Unseen::NoCommit)?;
    let annotations = Annotation::read_all(&commit.message).into_iter();
    let mut own = annotations.filter(|annotation| annotation.package == directory);
    let named = own.find(|annotation| !annotation.workspace.is_empty());
    Ok(Sight {
        commit: id,
        author: commit.author,
        time: commit.author_time,
        workspace: named
            .map(|annotation| annotation.workspace)
            .unwrap_or_default(),
        kptfile: kptfile.into(),
    })
}

/// All packages below a directory, unless they are remembered: every directory with a Kptfile is one, and there are none
/// inside of one.
pub(super) fn packages_in(
    store: &GitStore,
    place: &Place,
    memory: &mut Memory,
) -> Result<Packages, GitError> {
    if let Some(packages) = memory.recall_packages(place) {
        return Ok(packages);
    }
    let packages = store.with_reader(|reader| read_packages(reader, place))?;
    memory.remember_packages(place, packages.clone());
    Ok(packages)
}

fn read_packages(reader: &mut Reader, place: &Place) -> Result<Packages, GitError> {
    let root = match place.directory.as_str() {
        "" => format!("{}^{{tree}}", place.id),
        directory => format!("{}:{directory}", place.id),
    };
    let mut level = vec![(place.directory.clone(), root)];
    let mut found: Vec<(String, String)> = Vec::new();
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
                enter(directory, &tree, &mut found, &mut below);
            }
        })?;
        level = below;
    }
    let requests: Vec<String> = found.iter().map(|(_, kptfile)| kptfile.clone()).collect();
    let mut packages = Vec::with_capacity(found.len());
    reader.read_all(&requests, LARGEST, |place, object| {
        let kptfile = object.and_then(|object| object.bytes);
        if let (Some((directory, _)), Some(kptfile)) = (found.get(place), kptfile) {
            packages.push((directory.clone(), kptfile.into()));
        }
    })?;
    Ok(packages)
}

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
