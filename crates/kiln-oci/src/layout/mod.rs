//! OCI image layouts, in memory and as tar archives.
//!
//! The same content gives the same archive: entries have a fixed order and no timestamps or owners. Archives are checked
//! against their digests when they are read.

mod archive;

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use bytes::Bytes;

pub use archive::{ArchiveLimits, read_archive, write_archive};

use crate::digest::Digest;
use crate::excerpt::InvalidJson;
use crate::manifest::{Descriptor, ImageIndex, Manifest, ManifestError, StoredManifest};
use crate::media_type::{OCI_INDEX, is_index, is_manifest};

/// The annotation with the name or tag of an image.
const REF_NAME: &str = "org.opencontainers.image.ref.name";

/// Images and indexes, with all their blobs.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ImageLayout {
    roots: Vec<Descriptor>,
    blobs: BTreeMap<Digest, Bytes>,
}

/// Why a layout cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    #[error("cannot read or write the archive")]
    Io(#[source] io::Error),
    #[error("the layout has no {0}")]
    MissingFile(String),
    #[error("the layout has no blob {0}, which a manifest refers to")]
    MissingBlob(Digest),
    #[error("the blob {0} has another digest than its name")]
    Digest(Digest),
    #[error("cannot read index.json of the layout")]
    Index(#[source] InvalidJson),
    #[error("cannot read the manifest {0} of the layout")]
    Manifest(Digest, #[source] ManifestError),
    #[error("the layout is larger than the limit of {0} bytes")]
    TooLarge(u64),
    #[error("the layout has more manifests than the limit of {0}")]
    TooMany(usize),
}

/// More than one manifest per platform that exists.
const MAX_MANIFESTS: usize = 1000;

impl ImageLayout {
    /// The images and indexes that have a name.
    pub fn roots(&self) -> &[Descriptor] {
        &self.roots
    }

    pub fn add_blob(&mut self, media_type: &str, bytes: Bytes) -> Descriptor {
        let descriptor = Descriptor::of(media_type, &bytes);
        self.blobs.insert(descriptor.digest.clone(), bytes);
        descriptor
    }

    /// Names an added image or index.
    pub fn add_root(&mut self, mut descriptor: Descriptor, name: &str) {
        let name = (REF_NAME.to_owned(), name.to_owned());
        descriptor.annotations.extend([name]);
        self.roots.push(descriptor);
    }

    pub fn blob(&self, digest: &Digest) -> Result<Bytes, LayoutError> {
        let found = self.blobs.get(digest);
        let found = found.ok_or_else(|| LayoutError::MissingBlob(digest.clone()))?;
        Ok(found.clone())
    }

    /// The manifest of `root` and all manifests below it, each one before the index that refers to it.
    pub fn manifests_below(&self, root: &Descriptor) -> Result<Vec<StoredManifest>, LayoutError> {
        let mut found = Vec::new();
        let mut seen = BTreeSet::new();
        let mut pending = vec![root.clone()];
        while let Some(descriptor) = pending.pop() {
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
                pending.extend(manifests.filter(known).cloned());
            }
            found.push(stored);
        }
        found.reverse();
        Ok(found)
    }

    fn index(&self) -> ImageIndex {
        ImageIndex {
            schema_version: 2,
            media_type: Some(OCI_INDEX.to_owned()),
            manifests: self.roots.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
