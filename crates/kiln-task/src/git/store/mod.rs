//! A git repository as a store: its refs, its objects, and changing several refs at once or none.
//!
//! A repository on this machine is worked on directly; of any other there is a copy that is brought up to date before
//! reading, and changes are pushed. In both cases a change of refs says what it expects to be there, and happens
//! wholly or not at all.

mod catch_up;
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
    Limits, NewCommit, ObjectKind, ReadPackageError, Reader, Writer, is_partial, read_package,
};
use super::program::{GitError, GitProgram};
use crate::contents::Contents;
use local::Local;
pub use remote::InvalidAddress;
use remote::Remote;

/// How repositories are worked with.
#[derive(Clone, Debug)]
pub struct GitOptions {
    /// Git.
    pub program: GitProgram,
    /// Where copies of repositories of other machines are kept, and what has been seen in any.
    pub cache: PathBuf,
    /// How many bytes a package may have.
    pub largest_package: u64,
    /// How many files and directories a package may have.
    pub most_files: usize,
}

/// The bytes that a package may have, unless told otherwise.
pub const DEFAULT_LARGEST_PACKAGE: u64 = 256 * 1024 * 1024;
/// The files and directories that a package may have, unless told otherwise.
pub const DEFAULT_MOST_FILES: usize = 100_000;

/// Where a repository is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Location {
    /// On this machine: the directory of a repository, or one below it.
    Path(PathBuf),
    /// Wherever git finds it.
    Address(String),
}

/// Why a repository cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The address is not one that git should see.
    #[error(transparent)]
    Address(#[from] InvalidAddress),
    /// There is no such directory.
    #[error("cannot open repository {}: no such directory", .0.display())]
    NoDirectory(PathBuf),
    /// Git cannot.
    #[error("cannot open repository {location}")]
    Git {
        /// The repository, without credentials.
        location: String,
        /// What git says.
        #[source]
        error: GitError,
    },
    /// The copy cannot be made.
    #[error("cannot keep a copy of {location} in {path:?}")]
    Cache {
        /// The repository, without credentials.
        location: String,
        /// The directory.
        path: PathBuf,
        /// What the operating system says.
        #[source]
        error: std::io::Error,
    },
}

/// A change of a ref, and what it is to be changed from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RefChange {
    /// The ref.
    pub name: RefName,
    /// What it points to; none if it does not exist.
    pub old: Option<ObjectId>,
    /// What it is to point to; none if it is to go.
    pub new: Option<ObjectId>,
}

/// Whether several refs change at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Atomicity {
    /// All or none. A repository that cannot is refused.
    #[default]
    Required,
    /// One after the other where the repository cannot do better.
    NotRequired,
}

/// Why refs were not changed. None has been, unless atomicity was not required, files alone are left behind, or nobody knows.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// Somebody else was faster: a ref is not what it was.
    #[error("the repository has changed: {0}")]
    Stale(String),
    /// A ref of a repository on this machine is locked, and was waited for.
    #[error(
        "the repository is locked: {0} (another git is working there, or was killed and left the file)"
    )]
    Locked(String),
    /// The same elsewhere, where nobody has waited.
    #[error(
        "the repository is locked: {0} (another git is working there, or was killed and left the file)"
    )]
    Busy(String),
    /// The repository does not want the change.
    #[error("the repository refused the change: {0}")]
    Rejected(String),
    /// The repository cannot change several refs at once.
    #[error("the repository cannot change several references at once")]
    NotAtomic,
    /// Files that are checked out cannot be changed with their branch, mostly because somebody has changed them.
    #[error(
        "the branch {branch} is checked out in {work_tree}, whose files cannot be brought along: {message}"
    )]
    WorkTree {
        /// The branch.
        branch: String,
        /// Where.
        work_tree: String,
        /// What git says.
        message: String,
    },
    /// The refs have changed, and files that are checked out have not.
    #[error(
        "the change is made, but files that are checked out are left behind; the next kiln command brings them along: {0}"
    )]
    LeftBehind(String),
    /// It was not waited for.
    #[error("it is not known whether the repository has changed")]
    Unknown(#[source] GitError),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// A repository.
#[derive(Debug)]
pub struct GitStore {
    git: GitProgram,
    address: String,
    kind: Kind,
    limits: Limits,
    memory_file: PathBuf,
    reader: Mutex<Option<Reader>>,
}

#[derive(Debug)]
enum Kind {
    Local(Local),
    Remote(Remote),
}

impl GitStore {
    /// Opens a repository. One on another machine is not asked before [`GitStore::refresh`].
    pub fn open(location: &Location, options: &GitOptions) -> Result<GitStore, OpenError> {
        let (git, address, kind) = match location {
            Location::Path(path) => {
                let (git, address, local) = local::open(path, &options.program)?;
                // Who only wants to read may do so; who changes something is told.
                let _ = local.recover(&git);
                (git, address, Kind::Local(local))
            }
            Location::Address(address) => {
                let (git, remote) = remote::open(address, options)?;
                (git, address.clone(), Kind::Remote(remote))
            }
        };
        let name = remote::file_name(&super::program::without_credentials(&address));
        Ok(GitStore {
            memory_file: options.cache.join(format!("{name}.revisions")),
            git,
            address,
            kind,
            limits: Limits {
                bytes: options.largest_package,
                entries: options.most_files,
            },
            reader: Mutex::new(None),
        })
    }

    /// By which others find the repository: its address, or its path. It may hold credentials.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Gets to know what has changed on the other machine.
    pub fn refresh(&self) -> Result<(), GitError> {
        match &self.kind {
            Kind::Local(_) => Ok(()),
            Kind::Remote(remote) => remote.fetch(&self.git),
        }
    }

    /// Finishes what a command that was killed has left undone, as far as it has not been.
    pub fn recover(&self) -> Result<(), PublishError> {
        match &self.kind {
            Kind::Local(local) => local.recover(&self.git),
            Kind::Remote(_) => Ok(()),
        }
    }

    /// All branches and tags. Those whose names are not text are left out.
    pub fn refs(&self) -> Result<BTreeMap<RefName, ObjectId>, GitError> {
        let heads = match &self.kind {
            Kind::Local(_) => "refs/heads/",
            Kind::Remote(_) => remote::TRACKED,
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

    /// Changes refs as [`GitStore`] says.
    pub fn publish(&self, changes: &[RefChange], atomicity: Atomicity) -> Result<(), PublishError> {
        match &self.kind {
            Kind::Local(local) => local.publish(&self.git, changes),
            Kind::Remote(remote) => remote.push(&self.git, changes, atomicity),
        }
    }

    /// The files of a directory of a commit; none if there is no such directory.
    pub fn read_package(
        &self,
        commit: &ObjectId,
        directory: &str,
    ) -> Result<Option<Contents>, ReadPackageError> {
        let limits = self.limits;
        self.with_reader(|reader| read_package(reader, commit, directory, limits))
    }

    /// Whether a package is small enough to be read again once it is written.
    pub(crate) fn check_size(&self, contents: &Contents) -> Result<(), ReadPackageError> {
        self.limits.check(contents)
    }

    /// Whether objects may be missing and come later, so that it is no use to remember that they are not there.
    pub(super) fn is_partial(&self) -> bool {
        self.git.git_dir().is_some_and(is_partial)
    }

    /// The file that remembers what has been seen in the repository.
    pub(super) fn memory_file(&self) -> &Path {
        &self.memory_file
    }

    /// The commit that a name in hexadecimal digits, or a tag's object, stands for.
    pub(crate) fn commit_of(&self, name: &str) -> Result<Option<ObjectId>, GitError> {
        self.with_reader(|reader| {
            let object = reader.read(&format!("{name}^{{commit}}"), u64::MAX)?;
            Ok(object.map(|object| object.id))
        })
    }

    /// The directory of a commit.
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

    /// The newest commit that is behind both.
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

    /// What git says to a command that only reads.
    pub(crate) fn ask(
        &self,
        command: &'static str,
        arguments: &[&str],
        input: &[u8],
    ) -> Result<String, GitError> {
        let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
        let output = self.git.run(command, &arguments, input)?;
        Ok(String::from_utf8_lossy(&output).into_owned())
    }

    /// Writes a commit that no ref knows of yet.
    pub(crate) fn write_commit(&self, commit: &NewCommit<'_>) -> Result<ObjectId, GitError> {
        self.with_reader(|reader| {
            let mut writer = Writer {
                git: &self.git,
                reader,
            };
            writer.commit(commit)
        })
    }

    /// Reads objects with the one git that lives as long as the store.
    pub(crate) fn with_reader<T, E: From<GitError>>(
        &self,
        read: impl FnOnce(&mut Reader) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut slot = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let mut reader = match slot.take() {
            Some(reader) => reader,
            None => Reader::start(&self.git)?,
        };
        let answer = read(&mut reader);
        // After a failure it may be in the middle of an answer.
        if answer.is_ok() {
            *slot = Some(reader);
        }
        answer
    }
}
