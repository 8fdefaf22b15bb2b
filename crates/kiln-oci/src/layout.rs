//! Images at hand: an OCI image layout in memory, and as a tar archive.
//!
//! Archives are the same for the same content: entries in a fixed order, no times, no owners. What is read is checked against
//! its digests before anybody sees it.

mod archive;

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use bytes::Bytes;

pub use archive::{ArchiveLimits, read_archive, write_archive};

use crate::digest::Digest;
use crate::manifest::{Descriptor, Index, Manifest, ManifestError, StoredManifest};
use crate::media_type::{OCI_INDEX, is_index, is_manifest};
use crate::said::JsonError;

/// The annotation that holds an image's tag or name.
pub const REF_NAME: &str = "org.opencontainers.image.ref.name";

/// Images, and everything they consist of.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Layout {
    roots: Vec<Descriptor>,
    blobs: BTreeMap<Digest, Bytes>,
}

/// A layout is not whole, or not one.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    /// It cannot be read or written.
    #[error("cannot read or write the archive")]
    Io(#[source] io::Error),
    /// A file that has to be there is not.
    #[error("it has no {0}")]
    Missing(String),
    /// A blob is named and not there.
    #[error("it names {0} and does not hold it")]
    MissingBlob(Digest),
    /// A blob is not what its name says.
    #[error("what it holds as {0} has another digest")]
    Digest(Digest),
    /// A file of it cannot be read.
    #[error("its index.json cannot be read")]
    Index(#[source] JsonError),
    /// A manifest cannot be read.
    #[error("its manifest {0} cannot be read")]
    Manifest(Digest, #[source] ManifestError),
    /// It is larger than it may be.
    #[error("it holds more than {0} bytes, which is the limit")]
    TooLarge(u64),
    /// It has more parts than it may have.
    #[error("it names more than {0} manifests, which is the limit")]
    TooMany(usize),
}

/// Nobody builds images for more platforms.
const MAX_MANIFESTS: usize = 1000;

impl Layout {
    /// What it holds by name: images and indexes.
    pub fn roots(&self) -> &[Descriptor] {
        &self.roots
    }

    /// Adds something that is named by what is added later.
    pub fn add_blob(&mut self, media_type: &str, bytes: Bytes) -> Descriptor {
        let descriptor = Descriptor::of(media_type, &bytes);
        self.blobs.insert(descriptor.digest.clone(), bytes);
        descriptor
    }

    /// Makes what was added one of the roots, under a name.
    pub fn add_root(&mut self, mut descriptor: Descriptor, name: &str) {
        let name = (REF_NAME.to_owned(), name.to_owned());
        descriptor.annotations.extend([name]);
        self.roots.push(descriptor);
    }

    /// The bytes of a blob.
    pub fn blob(&self, digest: &Digest) -> Result<Bytes, LayoutError> {
        let found = self.blobs.get(digest);
        let found = found.ok_or_else(|| LayoutError::MissingBlob(digest.clone()))?;
        Ok(found.clone())
    }

    /// A root and the manifests it names, those that are named before those that name them.
    pub fn manifests_below(&self, root: &Descriptor) -> Result<Vec<StoredManifest>, LayoutError> {
        let mut found = Vec::new();
        let mut seen = BTreeSet::new();
        let mut open = vec![root.clone()];
        while let Some(descriptor) = open.pop() {
            if !seen.insert(descriptor.digest.clone()) {
                continue;
            }
            if seen.len() > MAX_MANIFESTS {
                return Err(LayoutError::TooMany(MAX_MANIFESTS));
            }
            let bytes = self.blob(&descriptor.digest)?;
            let stored = StoredManifest::parse(bytes, Some(&descriptor.media_type))
                .map_err(|source| LayoutError::Manifest(descriptor.digest.clone(), source))?;
            if let Manifest::Index(index) = &stored.manifest {
                let manifests = index.manifests.iter();
                let known = |entry: &&Descriptor| {
                    is_manifest(&entry.media_type) || is_index(&entry.media_type)
                };
                open.extend(manifests.filter(known).cloned());
            }
            found.push(stored);
        }
        found.reverse();
        Ok(found)
    }

    fn index(&self) -> Index {
        Index {
            schema_version: 2,
            media_type: Some(OCI_INDEX.to_owned()),
            manifests: self.roots.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
