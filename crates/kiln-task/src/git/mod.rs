//! Package revisions in a git repository, laid out as Porch does it.

mod annotation;
mod discover;
mod history;
mod id;
mod layout;
mod objects;
mod program;
mod revision;
mod store;

pub use annotation::{Annotation, approval_message, change_message, deletion_message};
pub use discover::Snapshot;
pub use history::{Changes, LogEntry, Tasks};
pub(crate) use history::{changes_on, highest_number, log_of};
pub use id::{InvalidRef, ObjectId, RefName};
pub use layout::Layout;
pub(crate) use layout::is_revision;
pub use objects::{Identity, ReadPackageError};
pub(crate) use objects::{NewCommit, PackageChange};
pub(crate) use program::without_credentials;
pub use program::{DEFAULT_PATIENCE, GitError, GitProgram};
pub(crate) use revision::read_kptfile;
pub use revision::{Number, Revision};
pub use store::{
    Atomicity, DEFAULT_LARGEST_PACKAGE, DEFAULT_MOST_FILES, GitOptions, GitStore, InvalidAddress,
    Location, OpenError, PublishError, RefChange,
};
