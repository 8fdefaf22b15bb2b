//! Images that must be signed by several keys, before they run.

use kiln_oci::{Digest, ImageReference, Platform, PullPolicy, RegistryClient};
use kiln_signature::PublicKey;

use super::verdicts::SignatureVerdict;
use super::{RepositoryCheck, SignatureError, SignatureRequest, repository, resolve, verify_chain};
use crate::pull::blocking;
use crate::store::Store;

/// Which image has to be signed, and by which keys.
#[derive(Clone, Copy, Debug)]
pub struct RequiredSignatures<'a> {
    pub reference: &'a ImageReference,
    pub platform: &'a Platform,
    /// When the registry is asked for the image and its signatures.
    pub policy: PullPolicy,
    /// All of them have to have made a signature.
    pub keys: &'a [&'a PublicKey],
}

/// Finds a valid signature of every key, and returns the digest that all of them cover: what runs by this digest is what was
/// verified. With a store, verdicts are kept, and the registry is not asked for signatures again.
pub async fn verify_required(
    registry: &RegistryClient,
    store: Option<&Store>,
    required: &RequiredSignatures<'_>,
) -> Result<Digest, SignatureError> {
    let reference = required.reference;
    let known = |digest: &Digest, key: &PublicKey| {
        let verdict = SignatureVerdict::new(&repository(reference), digest, key);
        store.is_some_and(|store| store.has_verdict(&verdict))
    };
    // A digest always names the same image.
    if let Some(digest) = reference.digest()
        && required.keys.iter().all(|key| known(digest, key))
    {
        return Ok(digest.clone());
    }
    let chain = match resolve(registry, store, &request(required, &[])).await {
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
    for key in required.keys {
        let signed = chain.iter().position(|digest| known(digest, key));
        let signed = match signed {
            Some(signed) => signed,
            None => {
                let keys = [PublicKey::clone(key)];
                let verified =
                    verify_chain(registry, store, &request(required, &keys), &chain).await?;
                if let Some(store) = store {
                    let verdict =
                        SignatureVerdict::new(&repository(reference), &verified.signed_digest, key);
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

fn request<'a>(required: &RequiredSignatures<'a>, keys: &'a [PublicKey]) -> SignatureRequest<'a> {
    SignatureRequest {
        reference: required.reference,
        platform: required.platform,
        policy: required.policy,
        keys,
        repository: RepositoryCheck::Same,
    }
}
