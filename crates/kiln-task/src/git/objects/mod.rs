//! Git's objects: reading them, and writing trees and commits of packages.

mod commit;
mod package;
mod quarantine;
mod reader;
mod tree;
mod writer;

pub(super) use commit::Commit;
pub use commit::Identity;
pub use package::ReadPackageError;
pub(super) use package::{Limits, read_package};
pub(super) use quarantine::is_partial;
pub(super) use reader::{Object, ObjectKind, Reader};
pub(super) use tree::Tree;
pub(super) use writer::Writer;
pub(crate) use writer::{NewCommit, PackageChange};
