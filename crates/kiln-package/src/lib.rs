//! Packages on disk: walk, ignore rules, parallel read, atomic write, prune, path safety.
//!
//! [`DiskFiles`] is the disk as a [`kiln_krm`] file source, [`read_files`] reads many of them on every core,
//! [`apply`] changes many files at once or none, and [`recover`] finishes or undoes the changes of a killed command.
//!
//! Nothing in a package, no path in an annotation, no symbolic link, no journal, makes this crate read or
//! write outside it: every path is walked one component at a time from an open directory, never by name.

mod dir;
mod tree;

mod disk;
mod lock;
mod read;

mod journal;
mod recover;
mod transaction;

pub use disk::{DiskFiles, OutsideLinks};
pub use lock::{Access, Lock};
pub use read::{available_threads, read_files};
pub use recover::{JOURNAL, RecoverError, Recovery, recover};
pub use transaction::{Applied, ApplyError, ApplyOptions, Durability, NewFiles, apply};
pub use tree::PathError;
