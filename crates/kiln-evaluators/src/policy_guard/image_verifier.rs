//! Verifies the signatures of images, and remembers what it verified.

use std::collections::HashMap;
use std::path::PathBuf;
use std::str::FromStr as _;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use kiln_oci::{
    ErrorClass, ImageReference, ImageReferenceError, PlainHttp, Platform, PullPolicy,
    RegistryClient, RegistryOptions,
};
use kiln_store::{
    PullError, RepositoryCheck, RequiredSignatures, SignatureError, SignatureRequirement, Store,
    StoreOptions, verify_required,
};
use tokio::runtime::Runtime;

/// How long a tag counts as the digest that was verified.
const TAG_AGE: Duration = Duration::from_secs(300);

/// How many images are remembered.
const MAX_REMEMBERED: usize = 1000;

/// How signatures are found.
#[derive(Clone)]
pub struct VerifierOptions {
    /// The directory of the store that keeps verdicts; `None` asks the registry in each process.
    pub store: Option<PathBuf>,
    pub registry: RegistryOptions,
    pub pull_policy: PullPolicy,
}

/// Why an image is not verified.
#[derive(Debug, thiserror::Error)]
pub(super) enum VerifyError {
    #[error(transparent)]
    Reference(#[from] ImageReferenceError),
    #[error(transparent)]
    Signature(#[from] SignatureError),
}

impl VerifyError {
    /// Whether the registry did not answer, so that nothing is known about the image.
    pub(super) fn is_unavailable(&self) -> bool {
        let VerifyError::Signature(SignatureError::Pull(error)) = self else {
            return false;
        };
        match &**error {
            PullError::Registry(error) => error.class() == ErrorClass::Unavailable,
            _ => false,
        }
    }
}

/// A reference with the digest that was verified.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct PinnedImage {
    pub(super) with_tag: String,
    pub(super) without_tag: String,
}

/// An image, and the signatures that it has to have: for each the keys, and whether it has to name the repository.
type Remembered = (String, Vec<(Vec<Vec<u8>>, bool)>);

pub(super) struct ImageVerifier {
    options: VerifierOptions,
    runtime: OnceLock<Runtime>,
    store: OnceLock<Option<Store>>,
    verified: Mutex<HashMap<Remembered, (Instant, Arc<PinnedImage>)>>,
}

impl Drop for ImageVerifier {
    /// A server may drop it where waiting is not allowed.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl ImageVerifier {
    pub(super) fn new(options: VerifierOptions) -> ImageVerifier {
        ImageVerifier {
            options,
            runtime: OnceLock::new(),
            store: OnceLock::new(),
            verified: Mutex::default(),
        }
    }

    /// The runtime of callers that block.
    pub(super) fn runtime(&self) -> std::io::Result<&Runtime> {
        if let Some(runtime) = self.runtime.get() {
            return Ok(runtime);
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("kiln-verify")
            .enable_all()
            .build()?;
        Ok(self.runtime.get_or_init(|| runtime))
    }

    /// Verifies that the image has all signatures.
    pub(super) async fn verify(
        &self,
        image: &str,
        signatures: &[Arc<SignatureRequirement>],
    ) -> Result<Arc<PinnedImage>, VerifyError> {
        let reference = ImageReference::from_str(image)?;
        let parts = signatures.iter().map(|signature| {
            let keys = signature.keys.iter();
            let keys = keys.map(|key| key.as_der().to_vec()).collect();
            (keys, signature.repository == RepositoryCheck::Same)
        });
        let remembered: Remembered = (reference.to_string(), parts.collect());
        if let Some(pinned) = self.remembered(&remembered, &reference) {
            return Ok(pinned);
        }
        let registry = self.registry_of(&reference);
        let required = RequiredSignatures {
            reference: &reference,
            platform: &Platform::this_machine(),
            policy: self.options.pull_policy,
            signatures,
        };
        let digest = verify_required(&registry, self.store(), &required).await?;
        let pinned = Arc::new(PinnedImage {
            with_tag: reference.pinned_to(digest.clone()).to_string(),
            without_tag: reference.with_digest(digest).to_string(),
        });
        let mut verified = self.lock();
        if verified.len() >= MAX_REMEMBERED {
            verified.clear();
        }
        verified.insert(remembered, (Instant::now(), Arc::clone(&pinned)));
        Ok(pinned)
    }

    /// What was verified before. A digest always names the same image; a tag is looked up again after a while.
    fn remembered(
        &self,
        remembered: &Remembered,
        reference: &ImageReference,
    ) -> Option<Arc<PinnedImage>> {
        let verified = self.lock();
        let (at, pinned) = verified.get(remembered)?;
        let is_fresh = reference.digest().is_some() || at.elapsed() < TAG_AGE;
        is_fresh.then(|| Arc::clone(pinned))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Remembered, (Instant, Arc<PinnedImage>)>> {
        self.verified.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The store; `None` if it cannot be used, which costs requests and no safety.
    fn store(&self) -> Option<&Store> {
        let open = || Store::open(self.options.store.as_ref()?, StoreOptions::default()).ok();
        self.store.get_or_init(open).as_ref()
    }

    /// The client for the registry of an image. Traffic to this machine can be read by no other one.
    fn registry_of(&self, reference: &ImageReference) -> RegistryClient {
        let mut options = self.options.registry.clone();
        if kiln_oci::is_local(reference.registry()) {
            let plain_http = options.plain_http.entry(reference.registry().to_owned());
            plain_http.or_insert(PlainHttp::WithCredentials);
        }
        RegistryClient::new(options)
    }
}
