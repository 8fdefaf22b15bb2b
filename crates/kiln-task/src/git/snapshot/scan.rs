//! Scans commits for packages.

use std::sync::Arc;

use kiln_krm::kptfile::FILE_NAME;

use super::cache::SnapshotCache;
use crate::git::annotation::Annotation;
use crate::git::id::ObjectId;
use crate::git::layout::file_in;
use crate::git::objects::{Commit, GitIdentity, GitObject, GitTree, ObjectKind, ObjectReader};
use crate::git::program::GitError;
use crate::git::store::GitStore;

/// A directory in a commit, or in the commit of an annotated tag.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct CommitDirectory {
    pub(super) id: ObjectId,
    pub(super) directory: String,
}

impl CommitDirectory {
    pub(super) fn new(id: &ObjectId, directory: &str) -> CommitDirectory {
        CommitDirectory {
            id: id.clone(),
            directory: directory.to_owned(),
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct FoundPackage {
    pub(super) commit: ObjectId,
    pub(super) author: GitIdentity,
    pub(super) time: i64,
    /// The workspace in the commit message; empty if it has none.
    pub(super) workspace: String,
    pub(super) kptfile: Arc<[u8]>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum NoPackage {
    #[error("Kptfile not found")]
    NoKptfile,
    #[error("it is not a commit")]
    NoCommit,
}

pub(super) type ScanResult = Result<FoundPackage, NoPackage>;

/// Packages by directory, with their Kptfiles.
pub(super) type Packages = Vec<(String, Arc<[u8]>)>;

/// The largest Kptfile, commit or tree that is read.
const MAX_OBJECT_SIZE: u64 = 16 * 1024 * 1024;
const MAX_DEPTH: usize = 100;

/// Scans directories, except those in the cache.
pub(super) fn scan(
    store: &GitStore,
    directories: &[CommitDirectory],
    cache: &mut SnapshotCache,
) -> Result<Vec<ScanResult>, GitError> {
    let unknown: Vec<&CommitDirectory> = directories
        .iter()
        .filter(|directory| !cache.contains(directory))
        .collect();
    if !unknown.is_empty() {
        let results = store.with_reader(|reader| read(reader, &unknown))?;
        for (directory, result) in unknown.into_iter().zip(results) {
            cache.insert(directory, result);
        }
    }
    let results = directories.iter().map(|directory| cache.get(directory));
    Ok(results
        .map(|result| result.unwrap_or(Err(NoPackage::NoCommit)))
        .collect())
}

fn read(
    reader: &mut ObjectReader,
    directories: &[&CommitDirectory],
) -> Result<Vec<ScanResult>, GitError> {
    let requests: Vec<String> = directories
        .iter()
        .flat_map(|directory| {
            let commit = format!("{}^{{commit}}", directory.id);
            [
                commit,
                file_in(&directory.id, &directory.directory, FILE_NAME),
            ]
        })
        .collect();
    let mut commit = None;
    let mut answers = Vec::with_capacity(directories.len());
    reader.read_all(&requests, MAX_OBJECT_SIZE, |index, object| {
        match index % 2 {
            0 => commit = object,
            _ => answers.push((commit.take(), object)),
        }
    })?;
    let pairs = directories.iter().zip(answers);
    Ok(pairs
        .map(|(directory, (commit, kptfile))| found_package(&directory.directory, commit, kptfile))
        .collect())
}

fn found_package(
    directory: &str,
    commit: Option<GitObject>,
    kptfile: Option<GitObject>,
) -> ScanResult {
    let kptfile = kptfile.filter(|object| object.kind == ObjectKind::Blob);
    let kptfile = kptfile.and_then(|object| object.bytes);
    let kptfile = kptfile.ok_or(NoPackage::NoKptfile)?;
    let parsed = commit.and_then(|object| Some((object.id, Commit::parse(&object.bytes?)?)));
    let (id, commit) = parsed.ok_or(NoPackage::NoCommit)?;
    let annotations = Annotation::read_all(&commit.message).into_iter();
    let mut own = annotations.filter(|annotation| annotation.package == directory);
    let named = own.find(|annotation| !annotation.workspace.is_empty());
    Ok(FoundPackage {
        commit: id,
        author: commit.author,
        time: commit.author_time,
        workspace: named
            .map(|annotation| annotation.workspace)
            .unwrap_or_default(),
        kptfile: kptfile.into(),
    })
}

/// All packages below a directory: each directory with a Kptfile. Packages inside a package do not count.
pub(super) fn packages_in(
    store: &GitStore,
    directory: &CommitDirectory,
    cache: &mut SnapshotCache,
) -> Result<Packages, GitError> {
    if let Some(packages) = cache.get_packages(directory) {
        return Ok(packages);
    }
    let packages = store.with_reader(|reader| read_packages(reader, directory))?;
    cache.insert_packages(directory, packages.clone());
    Ok(packages)
}

fn read_packages(
    reader: &mut ObjectReader,
    directory: &CommitDirectory,
) -> Result<Packages, GitError> {
    let root = match directory.directory.as_str() {
        "" => format!("{}^{{tree}}", directory.id),
        path => format!("{}:{path}", directory.id),
    };
    let mut level = vec![(directory.directory.clone(), root)];
    let mut found: Vec<(String, String)> = Vec::new();
    let mut depth = 0;
    while !level.is_empty() && depth < MAX_DEPTH {
        depth += 1;
        let requests: Vec<String> = level.iter().map(|(_, request)| request.clone()).collect();
        let mut below = Vec::new();
        reader.read_all(&requests, MAX_OBJECT_SIZE, |index, object| {
            let directory = level.get(index).map(|(directory, _)| directory.as_str());
            let tree = object.filter(|object| object.kind == ObjectKind::Tree);
            let tree = tree.and_then(|object| GitTree::parse(&object.bytes?, &object.id));
            if let (Some(directory), Some(tree)) = (directory, tree) {
                sort_out(directory, &tree, &mut found, &mut below);
            }
        })?;
        level = below;
    }
    let requests: Vec<String> = found.iter().map(|(_, kptfile)| kptfile.clone()).collect();
    let mut packages = Vec::with_capacity(found.len());
    reader.read_all(&requests, MAX_OBJECT_SIZE, |index, object| {
        let kptfile = object.and_then(|object| object.bytes);
        if let (Some((directory, _)), Some(kptfile)) = (found.get(index), kptfile) {
            packages.push((directory.clone(), kptfile.into()));
        }
    })?;
    Ok(packages)
}

/// Adds the directory to the packages if it is one, else its subdirectories to the next level.
fn sort_out(
    directory: &str,
    tree: &GitTree,
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
