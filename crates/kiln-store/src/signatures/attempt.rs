//! One attempt to find a valid signature, digest by digest.

use kiln_oci::{Digest, RegistryClient, RegistryError, SignatureBlob};
use kiln_signature::{InvalidSignatures, Signature, SignatureFormat, SignedImage, verify};

use super::{
    LIMITS, RejectedSignature, RepositoryCheck, SignatureError, SignatureRequest, SignatureSource,
    VerifiedImage, repository,
};
use crate::pull::{PullError, blocking};
use crate::store::Store;

/// What is known about the signatures of an image.
pub(super) struct Attempt<'a> {
    request: &'a SignatureRequest<'a>,
    chain: &'a [Digest],
    source: SignatureSource,
    repository: String,
    searched: Vec<String>,
    rejected: Vec<RejectedSignature>,
    verified: Option<VerifiedImage>,
    /// The number of signatures, if it exceeds the limit.
    too_many: Option<usize>,
}

impl<'a> Attempt<'a> {
    pub(super) fn new(
        request: &'a SignatureRequest<'a>,
        chain: &'a [Digest],
        source: SignatureSource,
    ) -> Attempt<'a> {
        Attempt {
            request,
            chain,
            source,
            repository: repository(request.reference),
            searched: Vec::new(),
            rejected: Vec::new(),
            verified: None,
            too_many: None,
        }
    }

    /// Checks the signatures that the store keeps.
    pub(super) async fn check_store(&mut self, store: &Store) -> Result<(), PullError> {
        for digest in self.chain {
            self.searched
                .push(format!("signatures of {digest} in the store"));
            let (store, repository) = (store.clone(), self.repository.clone());
            let of_digest = digest.clone();
            let blobs = blocking(move || store.kept_signatures(&repository, &of_digest)).await?;
            if self.check(digest, &blobs) {
                break;
            }
        }
        Ok(())
    }

    /// Checks the signatures of the registry, and keeps valid ones in the store. It is an error if some could not be read and no
    /// other one is valid.
    pub(super) async fn check_registry(
        &mut self,
        registry: &RegistryClient,
        store: Option<&Store>,
    ) -> Result<(), RegistryError> {
        let mut bundle_error = None;
        for digest in self.chain {
            let reference = self.request.reference;
            let found = registry.signatures(reference, digest, &LIMITS).await?;
            self.searched.extend(found.searched);
            if !self.check(digest, &found.blobs) {
                bundle_error = bundle_error.or(found.bundle_error);
                continue;
            }
            if let Some(store) = store {
                let (store, repository) = (store.clone(), self.repository.clone());
                let of_digest = digest.clone();
                let keep = move || store.keep_signatures(&repository, &of_digest, &found.blobs);
                // Without them the registry is asked again next time.
                let _ = blocking(keep).await;
            }
            return Ok(());
        }
        bundle_error.map_or(Ok(()), Err)
    }

    /// Checks the signatures of one digest. Returns whether one is valid.
    fn check(&mut self, digest: &Digest, blobs: &[SignatureBlob]) -> bool {
        let signatures = blobs.iter().filter_map(|blob| {
            let format = SignatureFormat::of_media_type(&blob.descriptor.media_type)?;
            Some(Signature {
                format,
                bytes: &blob.bytes,
                annotations: &blob.descriptor.annotations,
            })
        });
        let signatures: Vec<Signature<'_>> = signatures.collect();
        let image = SignedImage {
            digest: digest.as_str(),
            repository: match self.request.repository {
                RepositoryCheck::Same => Some(self.repository.as_str()),
                RepositoryCheck::Any => None,
            },
        };
        match verify(&signatures, &image, self.request.keys) {
            Ok(valid) => {
                self.verified = self.chain.last().map(|manifest_digest| VerifiedImage {
                    signed_digest: digest.clone(),
                    manifest_digest: manifest_digest.clone(),
                    key: valid.key.name().to_owned(),
                    key_type: valid.key.key_type(),
                    format: valid.format,
                    source: self.source,
                });
            }
            Err(InvalidSignatures::TooMany(count)) => self.too_many = Some(count),
            Err(InvalidSignatures::Rejected(reasons)) => {
                let reasons = signatures.iter().zip(reasons);
                let rejected = reasons.map(|(signature, reason)| RejectedSignature {
                    digest: digest.clone(),
                    format: signature.format,
                    reason,
                });
                self.rejected.extend(rejected);
            }
        }
        self.verified.is_some()
    }

    pub(super) fn finish(self) -> Result<VerifiedImage, SignatureError> {
        let image = Box::new(self.request.reference.clone());
        if let Some(verified) = self.verified {
            return Ok(verified);
        }
        if let Some(count) = self.too_many {
            return Err(SignatureError::TooMany { image, count });
        }
        match self.rejected.is_empty() {
            true => Err(SignatureError::NotFound {
                image,
                searched: self.searched,
            }),
            false => Err(SignatureError::Rejected {
                image,
                rejected: self.rejected,
            }),
        }
    }
}
