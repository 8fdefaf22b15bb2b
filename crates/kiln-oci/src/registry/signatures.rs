//! The signatures of a manifest in its repository, where cosign puts them.
//!
//! A classic signature is a layer of the manifest with the tag `ALGORITHM-HEX.sig`, a bundle is the layer of a referrer.
//! Whether a signature is valid is not decided here.

use bytes::Bytes;

use super::RegistryClient;
use super::repository_endpoint::RepositoryEndpoint;
use crate::digest::Digest;
use crate::error::RegistryError;
use crate::manifest::{Descriptor, Manifest, StoredManifest};
use crate::media_type::{COSIGN_PAYLOAD, SIGSTORE_BUNDLE};
use crate::reference::ImageReference;

/// What a bundle contains. Other bundles are attestations. The value is only a hint, because it is not signed.
const PREDICATE_TYPE: (&str, &str) = (
    "dev.sigstore.bundle.predicateType",
    "https://sigstore.dev/cosign/sign/v1",
);

/// How much is read as signatures of one manifest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SignatureLimits {
    /// One more is an error.
    pub count: usize,
    /// The size of one signature.
    pub bytes: u64,
}

/// A signature in a registry: a layer with its content.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SignatureBlob {
    pub descriptor: Descriptor,
    pub bytes: Bytes,
}

/// What a registry has as signatures of a manifest.
#[derive(Debug)]
pub struct FoundSignatures {
    pub blobs: Vec<SignatureBlob>,
    /// Where they were looked up, for messages.
    pub searched: Vec<String>,
    /// Why bundles are missing. The classic signatures are complete, and one of them may be enough.
    pub bundle_error: Option<RegistryError>,
}

impl RegistryClient {
    /// The signatures of a manifest or index in the repository of a reference.
    pub async fn signatures(
        &self,
        reference: &ImageReference,
        digest: &Digest,
        limits: &SignatureLimits,
    ) -> Result<FoundSignatures, RegistryError> {
        let endpoint = RepositoryEndpoint::new(reference);
        let mut found = FoundSignatures {
            blobs: Vec::new(),
            searched: Vec::new(),
            bundle_error: None,
        };
        let tag = format!("{}-{}.sig", digest.algorithm(), digest.hex());
        // The tag of a SHA-512 digest would be too long.
        if let Some(tagged) = reference.with_tag(&tag) {
            found.searched.push(tagged.to_string());
            match self.fetch_manifest(&endpoint, &tagged).await {
                Ok(stored) => {
                    let layers = layers_of_type(stored, COSIGN_PAYLOAD);
                    check_count(layers.len(), reference, digest, limits)?;
                    self.add_layers(&endpoint, layers, limits, &mut found)
                        .await?;
                }
                Err(RegistryError::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        match self
            .add_bundles(&endpoint, reference, digest, limits, &mut found)
            .await
        {
            Ok(()) => {}
            Err(error @ RegistryError::TooManySignatures { .. }) => return Err(error),
            Err(error) => found.bundle_error = Some(error),
        }
        Ok(found)
    }

    /// Adds the signatures that are referrers.
    async fn add_bundles(
        &self,
        endpoint: &RepositoryEndpoint,
        reference: &ImageReference,
        digest: &Digest,
        limits: &SignatureLimits,
        found: &mut FoundSignatures,
    ) -> Result<(), RegistryError> {
        let referrers = self
            .referrers(endpoint, reference, digest, SIGSTORE_BUNDLE)
            .await?;
        found.searched.push(referrers.source);
        let referrers = referrers.referrers.into_iter();
        let referrers = referrers.map(|referrer| referrer.descriptor);
        let referrers: Vec<Descriptor> = referrers.filter(is_signature).collect();
        let classic = found.blobs.len();
        check_count(classic + referrers.len(), reference, digest, limits)?;
        let mut layers = Vec::new();
        for referrer in referrers {
            let by_digest = reference.with_digest(referrer.digest);
            let stored = self.fetch_manifest(endpoint, &by_digest).await?;
            layers.extend(layers_of_type(stored, SIGSTORE_BUNDLE));
        }
        check_count(classic + layers.len(), reference, digest, limits)?;
        self.add_layers(endpoint, layers, limits, found).await
    }

    /// Adds signatures with their content.
    async fn add_layers(
        &self,
        endpoint: &RepositoryEndpoint,
        layers: Vec<Descriptor>,
        limits: &SignatureLimits,
        found: &mut FoundSignatures,
    ) -> Result<(), RegistryError> {
        for descriptor in layers {
            let bytes = self.fetch_blob(endpoint, &descriptor, limits.bytes).await?;
            found.blobs.push(SignatureBlob { descriptor, bytes });
        }
        Ok(())
    }
}

fn check_count(
    count: usize,
    reference: &ImageReference,
    digest: &Digest,
    limits: &SignatureLimits,
) -> Result<(), RegistryError> {
    if count <= limits.count {
        return Ok(());
    }
    Err(RegistryError::TooManySignatures {
        subject: reference.with_digest(digest.clone()).to_string(),
        limit: limits.count,
    })
}

/// The layers of a manifest that have a media type. An index has no layers.
fn layers_of_type(stored: StoredManifest, media_type: &str) -> Vec<Descriptor> {
    let layers = match stored.manifest {
        Manifest::Image(manifest) => manifest.layers,
        Manifest::Index(_) => Vec::new(),
    };
    let layers = layers.into_iter();
    layers
        .filter(|layer| layer.media_type == media_type)
        .collect()
}

/// Whether a bundle may be a signature: it is not marked as something else.
fn is_signature(referrer: &Descriptor) -> bool {
    let (key, expected) = PREDICATE_TYPE;
    let predicate_type = referrer.annotations.get(key);
    predicate_type.is_none_or(|predicate_type| predicate_type == expected)
}
