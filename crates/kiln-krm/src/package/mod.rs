//! Packages in memory: which files belong to one, and what writing resources back would change.
//!
//! Nothing here touches a disk: files come from a [`FileSource`], and a write is only planned.

mod files;

pub use files::{Entry, EntryKind, FileError, FileSource, MemoryFiles};
