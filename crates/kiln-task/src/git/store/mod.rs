//! A git repository: its refs, its objects, and atomic updates of several refs.
//!
//! Local repositories are used directly. A remote one has a local copy, which is fetched before reading, and changes are pushed.
//! In both cases an update of refs names their expected old values, and happens completely or not at all.

mod finish_checkout;
mod index_lock;
mod local;
mod ref_journal;
mod remote;
mod work_tree;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::id::{ObjectId, RefName};
use super::objects::{
    CommitWriter, NewCommit, ObjectKind, ObjectReader, PackageLimits, ReadPackageError, is_partial,
    read_package,
};
use super::owner::ForeignDirectory;
use super::program::{GitError, GitProgram};
use crate::contents::{Contents, PackagePath};
use local::Local;
pub(in crate::git) use remote::file_name;
use remote::{InvalidAddress, Remote};

/// How git is run, and the largest package that it may contain.
#[derive(Clone, Debug)]
pub struct GitOptions {
    pub program: GitProgram,
    /// The directory for local copies of remote repositories, and for cached snapshots.
    pub cache: PathBuf,
    /// The largest package, in bytes.
    pub max_package_size: u64,
    /// The largest number of files and directories in a package.
    pub max_files: usize,
}

/// The default limit of a package, in bytes.
pub const DEFAULT_MAX_PACKAGE_SIZE: u64 = 256 * 1024 * 1024;
/// The default limit of files and directories in a package.
pub const DEFAULT_MAX_FILES: usize = 100_000;

/// Where a repository is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RepositoryLocation {
    /// The directory of a local repository, or a directory below it.
    Path(PathBuf),
    /// An address of git, such as a URL.
    Address(String),
}

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Address(#[from] InvalidAddress),
    #[error("cannot open repository {}: no such directory", .0.display())]
    NoDirectory(PathBuf),
    #[error("cannot open repository {location}")]
    Git {
        /// The path or address, without credentials.
        location: String,
        #[source]
        error: GitError,
    },
    #[error(transparent)]
    Owner(#[from] ForeignDirectory),
    /// The local copy of a remote repository cannot be created.
    #[error("cannot create a local copy of {location} in {path:?}")]
    Cache {
        /// The path or address, without credentials.
        location: String,
        path: PathBuf,
        #[source]
        error: std::io::Error,
    },
}

/// The update of a ref, with its expected old value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RefChange {
    pub name: RefName,
    /// The expected old value; `None` if the ref must not exist.
    pub old: Option<ObjectId>,
    /// The new value; `None` to delete the ref.
    pub new: Option<ObjectId>,
}

/// Whether several refs must be updated atomically.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Atomicity {
    /// Refuse a repository that does not support it.
    #[default]
    Required,
    /// Update them one by one if the repository does not support it.
    NotRequired,
}

/// Why refs were not updated. No ref has changed, except with [`Atomicity::NotRequired`],
/// [`PublishError::CheckoutUnfinished`] and [`PublishError::Unknown`].
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// A ref does not have its expected old value.
    #[error("the repository has changed: {0}")]
    Stale(String),
    /// A ref of a local repository is still locked after waiting.
    #[error(
        "the repository is locked: {0} (another git is running there, or one was killed; if none is running, remove the file)"
    )]
    Locked(String),
    /// A ref of a remote repository is locked. Git does not wait for it.
    #[error(
        "the repository is locked: {0} (another git is running there, or one was killed; if none is running, remove the file)"
    )]
    Busy(String),
    /// A hook or a rule of the repository refuses the change.
    #[error("the repository refused the change: {0}")]
    Rejected(String),
    #[error("the repository cannot update several refs at once")]
    NotAtomic,
    /// Checked-out files cannot be updated with their branch, mostly because the user has changed them.
    #[error(
        "branch {branch} is checked out in {work_tree}, and its files cannot be updated: {message}"
    )]
    WorkTree {
        branch: String,
        work_tree: String,
        message: String,
    },
    /// The refs are updated, but checked-out files are not.
    #[error(
        "the repository has changed, but checked-out files are not updated yet; the next kiln command updates them: {0}"
    )]
    CheckoutUnfinished(String),
    /// The push timed out.
    #[error("it is unknown whether the repository has changed")]
    Unknown(#[source] GitError),
    #[error(transparent)]
    Git(#[from] GitError),
}

/// An open repository, local or the local copy of a remote one.
#[derive(Debug)]
pub struct GitStore {
    git: GitProgram,
    address: String,
    kind: StoreKind,
    limits: PackageLimits,
    snapshot_cache_file: PathBuf,
    reader: Mutex<Option<ObjectReader>>,
}

#[derive(Debug)]
enum StoreKind {
    Local(Local),
    Remote(Remote),
}

impl GitStore {
    /// Opens a repository. A remote one is not contacted before [`GitStore::refresh`].
    pub fn open(
        location: &RepositoryLocation,
        options: &GitOptions,
    ) -> Result<GitStore, OpenError> {
        let (git, address, kind) = match location {
            RepositoryLocation::Path(path) => {
                let (git, address, local) = local::open(path, &options.program)?;
                // Reading works without recovery. Updates repeat it and report its error.
                let _ = local.recover(&git);
                (git, address, StoreKind::Local(local))
            }
            RepositoryLocation::Address(address) => {
                let (git, remote) = remote::open(address, options)?;
                (git, address.clone(), StoreKind::Remote(remote))
            }
        };
        let name = remote::file_name(&super::program::without_credentials(&address));
        Ok(GitStore {
            snapshot_cache_file: options.cache.join(format!("{name}.revisions")),
            git,
            address,
            kind,
            limits: PackageLimits {
                bytes: options.max_package_size,
                entries: options.max_files,
            },
            reader: Mutex::new(None),
        })
    }

    /// The address or path of the repository. It may contain credentials.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Fetches, if the repository is remote.
    pub fn refresh(&self) -> Result<(), GitError> {
        match &self.kind {
            StoreKind::Local(_) => Ok(()),
            StoreKind::Remote(remote) => remote.fetch(&self.git),
        }
    }

    /// Finishes what killed commands left undone.
    pub fn recover(&self) -> Result<(), PublishError> {
        match &self.kind {
            StoreKind::Local(local) => local.recover(&self.git),
            StoreKind::Remote(_) => Ok(()),
        }
    }

    /// All branches and tags, except those whose names are not UTF-8.
    pub fn refs(&self) -> Result<BTreeMap<RefName, ObjectId>, GitError> {
        let heads = match &self.kind {
            StoreKind::Local(_) => "refs/heads/",
            StoreKind::Remote(_) => remote::TRACKED,
        };
        let arguments = ["--format=%(objectname) %(refname)", heads, "refs/tags/"];
        let output = self
            .git
            .run("for-each-ref", &arguments.map(OsStr::new), b"")?;
        let mut refs = BTreeMap::new();
        for line in output.split(|byte| *byte == b'\n') {
            let line = std::str::from_utf8(line).ok();
            let Some((id, name)) = line.and_then(|line| line.split_once(' ')) else {
                continue;
            };
            let name = match name.strip_prefix(heads) {
                Some(branch) => RefName::branch(branch),
                None => RefName::whole(name),
            };
            if let (Some(id), Ok(name)) = (ObjectId::new(id), name) {
                refs.insert(name, id);
            }
        }
        Ok(refs)
    }

    /// Updates refs.
    pub fn publish(&self, changes: &[RefChange], atomicity: Atomicity) -> Result<(), PublishError> {
        match &self.kind {
            StoreKind::Local(local) => local.publish(&self.git, changes),
            StoreKind::Remote(remote) => remote.push(&self.git, changes, atomicity),
        }
    }

    /// The files of a directory of a commit; `None` if there is no such directory.
    pub fn read_package(
        &self,
        commit: &ObjectId,
        directory: &str,
    ) -> Result<Option<Contents>, ReadPackageError> {
        let limits = self.limits;
        self.with_reader(|reader| {
            read_package(
                reader,
                commit.as_str(),
                directory,
                limits,
                &mut refuse_submodule,
            )
        })
    }

    /// Refuses a package that is too large to be read again.
    pub(crate) fn check_size(&self, contents: &Contents) -> Result<(), ReadPackageError> {
        self.limits.check(contents)
    }

    /// Whether objects may be missing now and appear later, so that their absence must not be cached.
    pub(super) fn is_partial(&self) -> bool {
        self.git.git_dir().is_some_and(is_partial)
    }

    pub(super) fn snapshot_cache_file(&self) -> &Path {
        &self.snapshot_cache_file
    }

    /// The commit of a hash, of a commit or of a tag.
    pub(crate) fn commit_of(&self, name: &str) -> Result<Option<ObjectId>, GitError> {
        self.with_reader(|reader| {
            let object = reader.read(&format!("{name}^{{commit}}"), u64::MAX)?;
            Ok(object.map(|object| object.id))
        })
    }

    pub(crate) fn tree_of(
        &self,
        commit: &ObjectId,
        directory: &str,
    ) -> Result<Option<ObjectId>, GitError> {
        self.with_reader(|reader| {
            let object = reader.read(&format!("{commit}:{directory}"), u64::MAX)?;
            let tree = object.filter(|object| object.kind == ObjectKind::Tree);
            Ok(tree.map(|tree| tree.id))
        })
    }

    pub(crate) fn merge_base(
        &self,
        one: &ObjectId,
        other: &ObjectId,
    ) -> Result<Option<ObjectId>, GitError> {
        let arguments = [one.as_str(), other.as_str()].map(OsStr::new);
        let output = self.git.output("merge-base", &arguments, b"")?;
        match output.status.code() {
            Some(0) => Ok(ObjectId::new(
                String::from_utf8_lossy(&output.stdout).trim(),
            )),
            Some(1) => Ok(None),
            _ => Err(super::program::failed("merge-base", &output)),
        }
    }

    /// Runs a command that only reads, and returns its output.
    pub(crate) fn run(
        &self,
        command: &'static str,
        arguments: &[&str],
        input: &[u8],
    ) -> Result<String, GitError> {
        let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
        let output = self.git.run(command, &arguments, input)?;
        Ok(String::from_utf8_lossy(&output).into_owned())
    }

    /// Writes a commit that has no ref yet.
    pub(crate) fn write_commit(&self, commit: &NewCommit<'_>) -> Result<ObjectId, GitError> {
        self.with_reader(|reader| {
            let mut writer = CommitWriter {
                git: &self.git,
                reader,
            };
            writer.commit(commit)
        })
    }

    /// Reads objects with the one git process of this store.
    pub(crate) fn with_reader<T, E: From<GitError>>(
        &self,
        read: impl FnOnce(&mut ObjectReader) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut slot = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let mut reader = match slot.take() {
            Some(reader) => reader,
            None => ObjectReader::start(&self.git)?,
        };
        let answer = read(&mut reader);
        // After a failure it may be in the middle of its output.
        if answer.is_ok() {
            *slot = Some(reader);
        }
        answer
    }
}

/// A submodule would be lost when its package is written back.
fn refuse_submodule(path: &PackagePath) -> Result<(), ReadPackageError> {
    Err(ReadPackageError::Submodule(path.to_string()))
}
