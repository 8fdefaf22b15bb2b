//! The three-way merge of packages: applies the changes of the upstream to the local package.
//!
//! The input is three versions of a package: the upstream that it was made from, the new upstream, and the local package. The
//! output is the merged package and a list of conflicts. A conflict never stops a merge: by kpt's rules the new upstream wins in
//! fields, and the local version wins for whole resources, files and packages.
//!
//! Invariants: a change of only one side is taken; unchanged documents keep their bytes; the result does not depend on the order
//! of hash maps or on earlier merges. Nothing here reads repositories or renders.

mod aliases;
mod comments;
mod conflict;
mod decide;
pub(crate) mod file;
mod items;
mod kpt_merge;
mod kptfile;
mod lock;
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
pub(crate) use kpt_merge::{merge_like_kpt, reencode, reencode_all};
pub(crate) use kptfile::{UpstreamFields, has_other_upstream, merge_kptfile, without_render};
pub use marks::Attribution;
pub(crate) use marks::{add_merge_keys, add_resource_marks};
pub(crate) use packages::join_path;
pub(crate) use resource_merge::is_unmodified;
pub(crate) use resources::FileSides;
pub(crate) use tree::MergeStyle;

use crate::contents::{Contents, ContentsError, UnsafePath};
use crate::task::Strategy;

/// The three versions of a package.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Versions<'a> {
    /// The upstream that the package was made from.
    pub(crate) origin: &'a Contents,
    /// The new upstream.
    pub(crate) updated: &'a Contents,
    pub(crate) local: &'a Contents,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Merged {
    pub(crate) contents: Contents,
    /// Sorted by file.
    pub(crate) conflicts: Vec<Conflict>,
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MergeError {
    #[error("subpackage {} added in both upstream and local", kiln_go::quote(.0))]
    AddedInBoth(String),
    #[error(
        "found duplicate {side:?} resources in file {}, please refer to \"update\" documentation for the fix",
        kiln_go::quote(path)
    )]
    Duplicate {
        /// `original`, `updated` or `dest`.
        side: &'static str,
        path: String,
    },
    /// A file has no readable resources: its path and the reason. Only with kpt's rules.
    #[error("{0}")]
    Unreadable(String),
    #[error(
        "local package files have been modified: [{}].\n  use a different update --strategy.",
        .0.join(" ")
    )]
    LocalChanges(Vec<String>),
    /// A file of one side is a directory of the other.
    #[error(transparent)]
    Contents(#[from] ContentsError),
}

impl From<UnsafePath> for MergeError {
    fn from(error: UnsafePath) -> MergeError {
        MergeError::Contents(error.into())
    }
}

/// Merges a package with its sub-packages. Its own upstream stays.
pub(crate) fn merge(versions: Versions<'_>, strategy: Strategy) -> Result<Merged, MergeError> {
    merge_as(versions, strategy, UpstreamFields::Keep)
}

/// The same with a rule for the upstream of the package itself.
pub(crate) fn merge_as(
    versions: Versions<'_>,
    strategy: Strategy,
    upstream: UpstreamFields,
) -> Result<Merged, MergeError> {
    match strategy {
        Strategy::ResourceMerge => resource_merge::resource_merge(versions, upstream),
        Strategy::FastForward => replace::fast_forward(versions),
        Strategy::ForceDeleteReplace => replace::force_delete_replace(versions),
        Strategy::CopyMerge => replace::copy_merge(versions),
    }
}

#[cfg(test)]
mod tests;
