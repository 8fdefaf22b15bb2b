//! Packages in memory: which files belong to one, and what writing resources back would change.
//!
//! Nothing here touches a disk: files come from a [`FileSource`], and a write is only planned.

mod assign_files;
mod files;
mod glob;
mod ignore;
mod keep;
mod plan;
mod read;
#[cfg(test)]
mod tests;
mod walk;

pub use files::{Entry, EntryKind, FileError, FileSource, MemoryFiles};
pub use keep::write_kept_documents;
pub use plan::{
    Bytes, EmptiedFiles, FileAction, FileChange, WriteError, WriteOptions, check_targets,
    plan_copy, plan_write,
};
pub use read::{PackageError, ReadSet, read_package};
pub use walk::{ListOptions, PACKAGE_FILE, PackageFile, Subpackages, list_package_files};
