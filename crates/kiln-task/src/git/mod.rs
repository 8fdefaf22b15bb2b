//! Package revisions in a git repository, in Porch's layout.

mod annotation;
mod history;
mod id;
mod layout;
mod objects;
mod owner;
mod program;
mod revision;
mod snapshot;
mod store;
mod upstream_repository;
mod work_tree;

pub(crate) use annotation::{approval_message, change_message, deletion_message};
pub use history::{LastChanges, LogEntry, Tasks};
pub(crate) use history::{highest_number, last_changes, log_of};
pub use id::ObjectId;
pub(crate) use id::{InvalidRef, RefName};
pub(crate) use layout::{RepositoryLayout, is_revision};
pub use objects::{GitIdentity, ReadPackageError};
pub(crate) use objects::{NewCommit, PackageChange};
pub use owner::ForeignDirectory;
pub(crate) use program::without_credentials;
pub use program::{
    DEFAULT_GIT_TIMEOUT, GitError, GitProgram, GitVersion, NoGit, NoResponse, RemoteObserver,
};
pub(crate) use revision::read_kptfile;
pub use revision::{Revision, RevisionNumber};
pub use snapshot::RepositorySnapshot;
pub use store::{
    Atomicity, DEFAULT_MAX_FILES, DEFAULT_MAX_PACKAGE_SIZE, GitOptions, OpenError, PublishError,
    RepositoryLocation,
};
pub(crate) use store::{GitStore, RefChange};
pub(crate) use upstream_repository::UpstreamRepository;
pub use upstream_repository::{
    UpstreamCache, UpstreamCommandError, UpstreamError, UpstreamProblem,
};
pub use work_tree::{FileStatus, WorkTree, WorkTreeError};
