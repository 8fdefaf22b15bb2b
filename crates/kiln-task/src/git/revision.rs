//! A revision of a package, as it is found in a repository.

use std::sync::Arc;

use kiln_krm::kptfile::Kptfile;
use kiln_krm::record::{Reader, UnknownKeys};

use super::id::{ObjectId, RefName};
use super::objects::Identity;
use crate::lifecycle::Lifecycle;
use crate::names::RevisionName;

/// A revision of a package.
#[derive(Clone, Debug)]
pub struct Revision {
    /// Its name.
    pub name: RevisionName,
    /// Its number.
    pub number: Number,
    /// Where it stands.
    pub lifecycle: Lifecycle,
    /// Whether no published revision of the package has a higher number.
    pub is_latest: bool,
    /// The branch or tag.
    pub reference: RefName,
    /// The commit, by which one knows whether somebody has changed the revision.
    pub commit: ObjectId,
    /// The package's directory from the root of the repository.
    pub directory: String,
    /// Who made the commit, and when in seconds since 1970; not known of placeholders.
    pub author: Option<(Identity, i64)>,
    pub(super) kptfile: Arc<[u8]>,
}

/// The number of a revision.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Number {
    /// It stands for what is on the branch, whatever revision that is.
    Placeholder,
    /// It has a tag that is no number.
    Unnumbered,
    /// It is not published yet.
    Unpublished,
    /// Its number.
    Published(u64),
}

impl Number {
    /// The number as Porch has it: -1 where there is none, 0 before publication.
    pub fn as_i64(self) -> i64 {
        match self {
            Number::Placeholder | Number::Unnumbered => -1,
            Number::Unpublished => 0,
            Number::Published(number) => i64::try_from(number).unwrap_or(i64::MAX),
        }
    }
}

impl Revision {
    /// Whether it stands for what is on the branch.
    pub fn is_placeholder(&self) -> bool {
        self.number == Number::Placeholder
    }

    /// The text of its Kptfile.
    pub fn kptfile_text(&self) -> &[u8] {
        &self.kptfile
    }

    /// Its Kptfile, without what a Kptfile should not have; empty if it cannot be read at all.
    pub fn kptfile(&self) -> Kptfile {
        read_kptfile(&self.kptfile)
    }
}

/// Whatever can be read of a Kptfile.
pub(crate) fn read_kptfile(text: &[u8]) -> Kptfile {
    let document = kiln_yaml::parse_first(text).ok().flatten();
    let kptfile =
        document.and_then(|document| Reader::document(&document, UnknownKeys::Ignore).ok());
    kptfile.unwrap_or_default()
}
