//! Finds images in the store, without a network.

use kiln_oci::{Digest, ImageReference, Manifest, Platform, select_platform};

use crate::error::StoreError;
use crate::image::StoredImage;
use crate::store::Store;

/// How deep indexes may be nested.
pub(crate) const MAX_NESTING: usize = 4;

impl Store {
    /// The image of a reference for a platform, if the store has it. A tag names the image that it resolved to when it was
    /// last pulled; a digest may name an index or an image of any repository.
    pub fn find(
        &self,
        reference: &ImageReference,
        platform: &Platform,
    ) -> Result<Option<StoredImage>, StoreError> {
        let found = self.find_resolved(reference, platform)?;
        Ok(found.map(|(image, _)| image))
    }

    /// The same, with the digest that the reference resolves to: of an index, or of the image itself.
    pub fn find_resolved(
        &self,
        reference: &ImageReference,
        platform: &Platform,
    ) -> Result<Option<(StoredImage, Digest)>, StoreError> {
        let digests = match reference.digest() {
            Some(digest) => {
                let manifest_digest = self.manifest_for(digest, platform)?;
                manifest_digest.map(|manifest_digest| (digest.clone(), manifest_digest))
            }
            None => self
                .resolved(reference, platform)?
                .map(|resolved| (resolved.digest, resolved.manifest_digest)),
        };
        let Some((digest, manifest_digest)) = digests else {
            return Ok(None);
        };
        let image = StoredImage::open(self, &manifest_digest)?;
        Ok(image.map(|image| (image, digest)))
    }

    /// The digest of the index or manifest that a reference resolves to, if the store has the image.
    pub fn digest(
        &self,
        reference: &ImageReference,
        platform: &Platform,
    ) -> Result<Option<Digest>, StoreError> {
        let chain = self.image_chain(reference, platform)?;
        Ok(chain.and_then(|chain| chain.into_iter().next()))
    }

    /// The manifest for a platform that a digest names: its own, or one of the index that it belongs to.
    pub(crate) fn manifest_for(
        &self,
        digest: &Digest,
        platform: &Platform,
    ) -> Result<Option<Digest>, StoreError> {
        let chain = self.manifest_chain(digest, platform)?;
        Ok(chain.and_then(|mut chain| chain.pop()))
    }

    /// The digests from the one that a reference resolves to, to the manifest for a platform. Each one is an entry of the one
    /// before. `None` if the store does not have the image.
    pub(crate) fn image_chain(
        &self,
        reference: &ImageReference,
        platform: &Platform,
    ) -> Result<Option<Vec<Digest>>, StoreError> {
        let chain = match reference.digest() {
            Some(digest) => self.manifest_chain(digest, platform)?,
            None => match self.resolved(reference, platform)? {
                Some(resolved) => {
                    let chain = self.manifest_chain(&resolved.digest, platform)?;
                    // This image runs, also if its index is no longer there.
                    let image = resolved.manifest_digest;
                    let chain = chain.filter(|chain| chain.last() == Some(&image));
                    Some(chain.unwrap_or_else(|| vec![image]))
                }
                None => None,
            },
        };
        Ok(chain.filter(|chain| {
            let image = chain.last();
            image.is_some_and(|image| self.image_directory(image).exists())
        }))
    }

    /// The digests from an index or manifest to the manifest for a platform.
    fn manifest_chain(
        &self,
        digest: &Digest,
        platform: &Platform,
    ) -> Result<Option<Vec<Digest>>, StoreError> {
        let mut digest = digest.clone();
        let mut chain = Vec::new();
        for _ in 0..=MAX_NESTING {
            let Some(stored) = self.manifest(&digest)? else {
                return Ok(None);
            };
            chain.push(digest);
            let index = match stored.manifest {
                Manifest::Image(_) => return Ok(Some(chain)),
                Manifest::Index(index) => index,
            };
            let Some(entry) = select_platform(&index, platform) else {
                return Ok(None);
            };
            digest = entry.digest.clone();
        }
        Ok(None)
    }
}
