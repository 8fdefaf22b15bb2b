//! Bringing a package to a new version of its upstream: what changed there, made to what the package has become.
//!
//! Three versions of a package go in, the one it was made from, the new one of its upstream and its own, and one comes
//! out, with a list of everything that both sides had changed. A conflict never stops a merge: by kpt's rules the new
//! upstream wins in fields, and the package's own version stays where all of a resource, a file or a package is meant.
//!
//! Invariants: what only one side has changed is taken; what nobody has changed keeps its bytes; nothing depends on the
//! order of hash maps or on an earlier merge. Nothing here knows where packages come from, and nothing renders.

mod aliases;
mod comments;
mod conflict;
mod decide;
pub(crate) mod file;
mod items;
mod kptfile;
mod marks;
mod packages;
mod path;
mod replace;
mod resource_merge;
mod resources;
mod schema;
mod transplant;
mod tree;

pub use conflict::{Conflict, Taken};
pub use marks::{UPSTREAM_IDENTIFIER, add_merge_keys};

use crate::contents::{Contents, ContentsError, UnsafePath};
use crate::task::Strategy;

/// The versions of a package that are merged.
#[derive(Clone, Copy, Debug)]
pub struct Versions<'a> {
    /// The upstream that the package was made from.
    pub origin: &'a Contents,
    /// The upstream that it is to be brought to.
    pub updated: &'a Contents,
    /// The package.
    pub local: &'a Contents,
}

/// A merged package.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Merged {
    /// Its files.
    pub contents: Contents,
    /// What both sides had changed, in the order of files.
    pub conflicts: Vec<Conflict>,
}

/// Why packages cannot be merged.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MergeError {
    /// Both sides have a new package in the same place.
    #[error("subpackage {} added in both upstream and local", kiln_krm::gotext::quote(.0))]
    AddedInBoth(String),
    /// A resource is in a file twice.
    #[error(
        "found duplicate {side:?} resources in file {}, please refer to \"update\" documentation for the fix",
        kiln_krm::gotext::quote(path)
    )]
    Duplicate {
        /// Whose file it is: `original`, `updated` or `dest`.
        side: &'static str,
        /// The file.
        path: String,
    },
    /// A package that was to be replaced has been changed.
    #[error(
        "local package files have been modified: [{}].\n  use a different update --strategy.",
        .0.join(" ")
    )]
    LocalChanges(Vec<String>),
    /// Both sides together make no package: a file of one is a directory of the other.
    #[error(transparent)]
    Contents(#[from] ContentsError),
}

impl From<UnsafePath> for MergeError {
    fn from(error: UnsafePath) -> MergeError {
        MergeError::Contents(error.into())
    }
}

/// Merges.
pub fn merge(versions: Versions<'_>, strategy: Strategy) -> Result<Merged, MergeError> {
    match strategy {
        Strategy::ResourceMerge => resource_merge::resource_merge(versions),
        Strategy::FastForward => replace::fast_forward(versions),
        Strategy::ForceDeleteReplace => replace::force_delete_replace(versions),
        Strategy::CopyMerge => replace::copy_merge(versions),
    }
}

#[cfg(test)]
mod tests;
