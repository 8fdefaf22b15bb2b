//! A revision of a package in a repository.

use std::sync::Arc;

use kiln_krm::kptfile::Kptfile;
use kiln_krm::record::{Reader, UnknownKeys};

use super::id::{ObjectId, RefName};
use super::objects::GitIdentity;
use crate::lifecycle::Lifecycle;
use crate::names::RevisionName;

/// A revision as it was found: its refs and commit may have changed since.
#[derive(Clone, Debug)]
pub struct Revision {
    pub name: RevisionName,
    pub number: RevisionNumber,
    pub lifecycle: Lifecycle,
    /// Whether it has the highest number of the published revisions of its package.
    pub is_latest: bool,
    pub reference: RefName,
    /// The commit. It is also the version of the revision, by which concurrent changes are detected.
    pub commit: ObjectId,
    /// The package's directory relative to the root of the repository.
    pub directory: String,
    /// The author and time (in seconds since 1970) of the commit; `None` for placeholders.
    pub author: Option<(GitIdentity, i64)>,
    pub(super) kptfile: Arc<[u8]>,
}

/// The number of a published revision, or why it has none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum RevisionNumber {
    /// The package on the branch, whichever revision that is.
    Placeholder,
    /// Published under a tag that is not a number.
    Unnumbered,
    Unpublished,
    Published(u64),
}

impl RevisionNumber {
    /// The number in Porch's API: -1 without a number, 0 before publication.
    pub fn as_i64(self) -> i64 {
        match self {
            RevisionNumber::Placeholder | RevisionNumber::Unnumbered => -1,
            RevisionNumber::Unpublished => 0,
            RevisionNumber::Published(number) => i64::try_from(number).unwrap_or(i64::MAX),
        }
    }
}

impl Revision {
    pub fn is_placeholder(&self) -> bool {
        self.number == RevisionNumber::Placeholder
    }

    pub fn kptfile_text(&self) -> &[u8] {
        &self.kptfile
    }

    /// The Kptfile without unknown fields; empty if it cannot be parsed.
    pub fn kptfile(&self) -> Kptfile {
        read_kptfile(&self.kptfile)
    }
}

/// Parses a Kptfile and ignores unknown fields; empty if it cannot be parsed.
pub(crate) fn read_kptfile(text: &[u8]) -> Kptfile {
    let document = kiln_yaml::parse_first(text).ok().flatten();
    let kptfile =
        document.and_then(|document| Reader::document(&document, UnknownKeys::Ignore).ok());
    kptfile.unwrap_or_default()
}
