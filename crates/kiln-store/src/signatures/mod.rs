//! Are images signed? Signatures come from the registry and from the store, keys from the caller.
//!
//! A signature may be of the manifest that runs or of an index that leads to it: each digest from the one that a reference
//! resolves to, to the manifest for the platform, is an entry of the one before.

mod attempt;
mod kept;
mod key_file;
mod required;
mod verdicts;

use kiln_oci::{
    Digest, ImageReference, Platform, PullPolicy, RegistryClient, RegistryError, SignatureLimits,
};
use kiln_signature::{
    KeyType, MAX_SIGNATURE_BYTES, MAX_SIGNATURES, PublicKey, Rejection, SignatureFormat,
};

pub use key_file::{KeyFileError, read_public_key};
pub use required::{RequiredSignatures, SignatureRequirement, verify_required};

use attempt::Attempt;

use crate::error::StoreError;
use crate::pull::{PullError, blocking};
use crate::store::Store;

const LIMITS: SignatureLimits = SignatureLimits {
    count: MAX_SIGNATURES,
    bytes: MAX_SIGNATURE_BYTES as u64,
};

/// Which image has to be signed, and by which keys.
#[derive(Clone, Copy, Debug)]
pub struct SignatureRequest<'a> {
    pub reference: &'a ImageReference,
    pub platform: &'a Platform,
    /// When the registry is asked for the image and its signatures.
    pub policy: PullPolicy,
    /// One of them has to have made a signature.
    pub keys: &'a [PublicKey],
    pub repository: RepositoryCheck,
}

/// Whether a classic signature has to name the repository of the image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RepositoryCheck {
    Same,
    /// For images that were copied from the repository where they were signed.
    Any,
}

/// An image with a valid signature.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifiedImage {
    /// The digest that is signed: of an index or of the image itself.
    pub signed_digest: Digest,
    /// The digest of the image for the platform.
    pub manifest_digest: Digest,
    /// The name of the key.
    pub key: String,
    pub key_type: KeyType,
    pub format: SignatureFormat,
    pub source: SignatureSource,
}

/// Where a signature was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SignatureSource {
    Registry,
    Store,
}

/// A signature that is not accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RejectedSignature {
    /// The digest that it is found for.
    pub digest: Digest,
    pub format: SignatureFormat,
    pub reason: Rejection,
}

/// Why an image does not count as signed.
#[derive(Debug, thiserror::Error)]
pub enum SignatureError {
    /// The image or its signatures cannot be read.
    #[error(transparent)]
    Pull(Box<PullError>),
    #[error("{image} has no signatures; looked for {}", searched.join(", "))]
    NotFound {
        image: Box<ImageReference>,
        searched: Vec<String>,
    },
    #[error("no signature of {image} is valid{}", reasons(rejected))]
    Rejected {
        image: Box<ImageReference>,
        rejected: Vec<RejectedSignature>,
    },
    #[error("{image} has {count} signatures, more than the limit of {MAX_SIGNATURES}")]
    TooMany {
        image: Box<ImageReference>,
        count: usize,
    },
}

impl From<PullError> for SignatureError {
    fn from(error: PullError) -> SignatureError {
        SignatureError::Pull(Box::new(error))
    }
}

impl From<RegistryError> for SignatureError {
    fn from(error: RegistryError) -> SignatureError {
        PullError::from(error).into()
    }
}

fn reasons(rejected: &[RejectedSignature]) -> String {
    let reasons = rejected.iter().map(|rejected| {
        let RejectedSignature {
            digest,
            format,
            reason,
        } = rejected;
        format!("\n  {format} signature of {digest}: {reason}")
    });
    reasons.collect()
}

/// Finds a valid signature of an image. With a store, signatures that it keeps are used, also without a network, and those of
/// the registry are kept.
pub async fn verify_signatures(
    registry: &RegistryClient,
    store: Option<&Store>,
    request: &SignatureRequest<'_>,
) -> Result<VerifiedImage, SignatureError> {
    let chain = resolve(registry, store, request).await?;
    verify_chain(registry, store, request, &chain).await
}

/// Finds a valid signature of one of the digests that lead to an image.
async fn verify_chain(
    registry: &RegistryClient,
    store: Option<&Store>,
    request: &SignatureRequest<'_>,
    chain: &[Digest],
) -> Result<VerifiedImage, SignatureError> {
    let kept = async || {
        let mut attempt = Attempt::new(request, chain, SignatureSource::Store);
        if let Some(store) = store {
            attempt.check_store(store).await?;
        }
        attempt.finish()
    };
    if request.policy != PullPolicy::Always {
        let verified = kept().await;
        if verified.is_ok() || request.policy == PullPolicy::Never {
            return verified;
        }
    }
    let mut attempt = Attempt::new(request, chain, SignatureSource::Registry);
    match attempt.check_registry(registry, store).await {
        Ok(()) => attempt.finish(),
        Err(error) if error.leaves_tag_unknown() => kept().await.map_err(|_| error.into()),
        Err(error) => Err(error.into()),
    }
}

/// Brings the signatures of an image that the store has into the store.
pub async fn pull_signatures(
    registry: &RegistryClient,
    store: &Store,
    reference: &ImageReference,
    platform: &Platform,
) -> Result<(), SignatureError> {
    let chain = stored_chain(store, reference, platform).await?;
    for digest in chain.unwrap_or_default() {
        let found = registry.signatures(reference, &digest, &LIMITS).await?;
        let (store, repository) = (store.clone(), repository(reference));
        blocking(move || store.keep_signatures(&repository, &digest, &found.blobs)).await?;
        if let Some(error) = found.bundle_error {
            return Err(error.into());
        }
    }
    Ok(())
}

/// The digests from the one that the reference resolves to, to the image.
async fn resolve(
    registry: &RegistryClient,
    store: Option<&Store>,
    request: &SignatureRequest<'_>,
) -> Result<Vec<Digest>, SignatureError> {
    let SignatureRequest {
        reference,
        platform,
        policy,
        ..
    } = *request;
    let stored = match store {
        Some(store) => stored_chain(store, reference, platform).await?,
        None => None,
    };
    match stored {
        // A digest always names the same image.
        Some(chain) if policy != PullPolicy::Always || reference.digest().is_some() => {
            return Ok(chain);
        }
        None if policy == PullPolicy::Never => {
            return Err(PullError::NotInStore(reference.clone()).into());
        }
        _ => {}
    }
    match (registry.image(reference, platform).await, stored) {
        (Ok(image), _) => {
            let digests = image.documents.into_iter().map(|(digest, _)| digest);
            // The config follows the manifest.
            let before = digests.take_while(|digest| *digest != image.manifest_digest);
            let mut chain: Vec<Digest> = before.collect();
            chain.push(image.manifest_digest);
            Ok(chain)
        }
        (Err(error), Some(chain)) if error.leaves_tag_unknown() => Ok(chain),
        (Err(error), _) => Err(error.into()),
    }
}

async fn stored_chain(
    store: &Store,
    reference: &ImageReference,
    platform: &Platform,
) -> Result<Option<Vec<Digest>>, PullError> {
    let store = store.clone();
    let (reference, platform) = (reference.clone(), platform.clone());
    blocking(move || -> Result<_, StoreError> { store.image_chain(&reference, &platform) }).await
}

/// The name that signatures have for the repository of a reference.
fn repository(reference: &ImageReference) -> String {
    format!("{}/{}", reference.registry(), reference.repository())
}
