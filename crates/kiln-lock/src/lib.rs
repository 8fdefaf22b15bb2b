//! `kiln.lock`: the exact version of every function of a package.
//!
//! [`FunctionLock`] is the content of a file. [`FunctionLock::parse`] reads it strictly, [`FunctionLock::to_text`] writes the
//! one text for it: sorted, and without anything that depends on time or machine. [`FunctionLock::changes_to`] compares two
//! files, [`FunctionLock::merge_upstream`] takes over an update of a package. Nothing here resolves a version or reads a file.

mod changes;
mod merge;
mod parse;
#[cfg(test)]
mod tests;
mod write;

use std::collections::BTreeMap;

pub use changes::LockChange;
pub use parse::{InvalidLock, LockProblem};

/// The name of the file, in the root directory of a package. No tool takes a file with this name for resources.
pub const LOCK_FILE: &str = "kiln.lock";

/// The content of a lock file.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct FunctionLock {
    pub functions: BTreeMap<LockKey, LockedFunction>,
}

/// A function as Kptfiles name it. Entries are sorted by it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LockKey {
    pub image: String,
    /// Empty if the Kptfile has none.
    pub tag: String,
}

/// What a function resolved to. It has a digest, a built-in function, or both.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LockedFunction {
    /// The whole name of the image, with its tag.
    pub resolved: String,
    /// The digest of the index, or of the manifest if there is no index: `sha256:…`.
    pub digest: Option<String>,
    /// The built-in function that runs in place of the image: `NAME@VERSION#BEHAVIOUR`.
    pub native: Option<String>,
    /// The digest of the module, if the image is a WebAssembly module: `sha256:…`.
    pub wasm: Option<String>,
}

impl std::fmt::Display for LockKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.tag.as_str() {
            "" => f.write_str(&self.image),
            tag => write!(f, "{} ({tag})", self.image),
        }
    }
}
