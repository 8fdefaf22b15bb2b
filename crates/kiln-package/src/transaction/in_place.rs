//! Which files are written over in place instead of being replaced.
//!
//! A new file and a rename over an old one cost a file system many times what writing over its one block does, and in
//! a package of a thousand files that is most of the time. Content that is in the journal first is as safe, if nothing
//! can go wrong once it is committed, and if no reader sees half of it after a
//! kill. So a file is written over only if
//!
//! - old and new content are within one page, which Linux copies without looking at signals;
//! - it does not get shorter, because cutting off the rest would be a second step;
//! - its blocks exist, on a file system that writes to the same blocks again, so that the disk cannot be too full;
//! - it has one name: a hard link is a second name that should keep the old content.

use crate::dir::{Dir, Meta};

/// A page of memory on all machines; many have larger ones.
const PAGE: u64 = 4096;

/// The rule for the files of one package.
pub(super) struct InPlace {
    /// The only file system where it is allowed.
    device: Option<u64>,
}

impl InPlace {
    /// No file is written over.
    pub(super) fn never() -> InPlace {
        InPlace { device: None }
    }

    /// Allowed on the package's file system if that is known to write to the same blocks.
    pub(super) fn on_file_system_of(root: &Dir, own: &Meta) -> InPlace {
        InPlace {
            device: root.writes_in_place().then_some(own.device),
        }
    }

    /// Whether a file can be written over with this content.
    pub(super) fn fits(&self, old: &Meta, content: &[u8]) -> bool {
        let length = content.len() as u64;
        self.device == Some(old.device)
            && old.links == 1
            && (old.size..=PAGE).contains(&length)
            && old.allocated >= length
    }
}
