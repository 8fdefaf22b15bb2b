//! Images that must have several signatures, before they run.

use std::sync::Arc;

use kiln_oci::{Digest, ImageReference, Platform, PullPolicy, RegistryClient};
use kiln_signature::PublicKey;

use super::verdicts::SignatureVerdict;
use super::{RepositoryCheck, SignatureError, SignatureRequest, repository, resolve, verify_chain};
use crate::pull::blocking;
use crate::store::Store;

/// A signature that an image has to have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SignatureRequirement {
    /// One of them has to have made it.
    pub keys: Vec<PublicKey>,
    pub repository: RepositoryCheck,
}

/// Which image has to be signed, and by which keys.
#[derive(Clone, Copy, Debug)]
pub struct RequiredSignatures<'a> {
    pub reference: &'a ImageReference,
    pub platform: &'a Platform,
    /// When the registry is asked for the image and its signatures.
    pub policy: PullPolicy,
    /// The image has to have all of them.
    pub signatures: &'a [Arc<SignatureRequirement>],
}

/// Finds a valid signature for each requirement, and returns the digest that all of them cover: what runs by this digest is what was
/// verified. With a store, verdicts are kept, and the registry is not asked for signatures again.
pub async fn verify_required(
    registry: &RegistryClient,
    store: Option<&Store>,
    required: &RequiredSignatures<'_>,
) -> Result<Digest, SignatureError> {
    let reference = required.reference;
    let known = |digest: &Digest, requirement: &SignatureRequirement| {
        let is_known = |key| {
            let verdict = verdict(reference, digest, key, requirement.repository);
            store.is_some_and(|store| store.has_verdict(&verdict))
        };
        requirement.keys.iter().any(is_known)
    };
    // A digest always names the same image.
    if let Some(digest) = reference.digest()
        && required.signatures.iter().all(|it| known(digest, it))
    {
        return Ok(digest.clone());
    }
    let any = RepositoryCheck::Any;
    let chain = match resolve(registry, store, &request(required, &[], any)).await {
        Ok(chain) => chain,
        // A WebAssembly module has no image for this platform. Its index or its only manifest is what has to be signed.
        Err(error) if required.policy != PullPolicy::Never => {
            match registry.manifest(reference).await {
                Ok(manifest) => vec![manifest.descriptor.digest],
                Err(_) => return Err(error),
            }
        }
        Err(error) => return Err(error),
    };
    let mut deepest = 0;
    for requirement in required.signatures {
        let SignatureRequirement { keys, repository } = &**requirement;
        let signed = chain.iter().position(|digest| known(digest, requirement));
        let signed = match signed {
            Some(signed) => signed,
            None => {
                let request = request(required, keys, *repository);
                let verified = verify_chain(registry, store, &request, &chain).await?;
                let key = keys.iter().find(|key| key.name() == verified.key);
                if let (Some(store), Some(key)) = (store, key) {
                    let verdict = verdict(reference, &verified.signed_digest, key, *repository);
                    let store = store.clone();
                    // Without it the registry is asked again next time.
                    let _ = blocking(move || store.keep_verdict(&verdict)).await;
                }
                let signed = chain
                    .iter()
                    .position(|digest| *digest == verified.signed_digest);
                signed.unwrap_or_default()
            }
        };
        deepest = deepest.max(signed);
    }
    match chain.into_iter().nth(deepest) {
        Some(digest) => Ok(digest),
        None => Err(SignatureError::NotFound {
            image: Box::new(reference.clone()),
            searched: Vec::new(),
        }),
    }
}

fn request<'a>(
    required: &RequiredSignatures<'a>,
    keys: &'a [PublicKey],
    repository: RepositoryCheck,
) -> SignatureRequest<'a> {
    SignatureRequest {
        reference: required.reference,
        platform: required.platform,
        policy: required.policy,
        keys,
        repository,
    }
}

fn verdict(
    reference: &ImageReference,
    digest: &Digest,
    key: &PublicKey,
    check: RepositoryCheck,
) -> SignatureVerdict {
    SignatureVerdict::new(&repository(reference), digest, key, check)
}
