//! Reads git objects, and writes trees and commits of packages.

mod commit;
mod package;
mod quarantine;
mod reader;
mod tree;
mod writer;

pub(super) use commit::Commit;
pub use commit::GitIdentity;
pub use package::ReadPackageError;
pub(super) use package::{PackageLimits, read_package};
pub(super) use quarantine::is_partial;
pub(super) use reader::{GitObject, ObjectKind, ObjectReader};
pub(super) use tree::GitTree;
pub(super) use writer::CommitWriter;
pub(crate) use writer::{NewCommit, PackageChange};
