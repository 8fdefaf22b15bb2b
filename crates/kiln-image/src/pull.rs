//! Brings images into the store, for callers that block.

use std::future::Future;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};
use std::time::Instant;

use kiln_oci::{Digest, ImageReference, PlainHttp, Platform, PullPolicy, RegistryClient};
use kiln_runtime::{RunContext, RunError};
use kiln_store::{PullError, PullOrigin, PullRequest, PulledImage, Store, StoreError, StoredImage};
use tokio::runtime::{Handle, Runtime};

use crate::error::ImageRunError;
use crate::options::ImageOptions;

/// The store, and what is needed to pull into it, opened when it is first needed.
pub(crate) struct ImageSource {
    store: Mutex<Option<Store>>,
    /// Pulls run on one runtime, so that callers can share a pull and one of them can give up.
    puller: OnceLock<Puller>,
    is_collecting: Arc<AtomicBool>,
}

struct Puller {
    handle: Handle,
    /// `None` while it is dropped.
    runtime: Option<Runtime>,
    registry: RegistryClient,
}

impl Drop for Puller {
    /// Does not wait for blocking work, for example for a layer that is being unpacked: a caller that gave up would wait for it.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// An image in the store, and the digest that its name resolves to: of an index, or its own.
pub(crate) struct FoundImage {
    pub(crate) image: StoredImage,
    pub(crate) digest: Digest,
}

impl ImageSource {
    pub(crate) fn new() -> ImageSource {
        ImageSource {
            store: Mutex::default(),
            puller: OnceLock::new(),
            is_collecting: Arc::default(),
        }
    }

    /// The image, if the policy allows to use the store's without asking the registry and the store has it.
    pub(crate) fn find(
        &self,
        image: &str,
        options: &ImageOptions,
    ) -> Result<Option<FoundImage>, ImageRunError> {
        let reference = parse(image)?;
        if options.pull_policy == PullPolicy::Always && reference.digest().is_none() {
            return Ok(None);
        }
        let store = self.store(options)?;
        let found = match store.find_resolved(&reference, &Platform::this_machine()) {
            // It is pulled again.
            Err(StoreError::Damaged { .. }) => None,
            found => found.map_err(ImageRunError::Store)?,
        };
        Ok(found.map(|(image, digest)| FoundImage { image, digest }))
    }

    /// Pulls the image, as the policy says. Ends with the caller's deadline, or when the caller cancels.
    pub(crate) fn pull(
        &self,
        image: &str,
        options: &ImageOptions,
        ctx: &RunContext,
    ) -> Result<FoundImage, PullFailure> {
        let request = PullRequest {
            reference: parse(image)?,
            platform: Platform::this_machine(),
            policy: options.pull_policy,
        };
        let store = self.store(options)?;
        let puller = self.puller(options)?;
        let registry = puller.registry_of(&request.reference, options);
        let progress = options.pulls.begin(image);
        let pull_store = store.clone();
        let pull = async move { pull_store.pull(&registry, &request, progress).await };
        let pulled = puller.wait_for(pull, ctx)?;
        let pulled = pulled.map_err(|source| ImageRunError::Pull {
            image: image.to_owned(),
            source,
        })?;
        match &pulled.origin {
            PullOrigin::Registry => self.collect(puller, &store, options),
            PullOrigin::Offline(error) => options.pulls.offline(image, error),
            PullOrigin::Store | PullOrigin::Confirmed => {}
        }
        Ok(FoundImage {
            image: pulled.image,
            digest: pulled.digest,
        })
    }

    /// Collects the store in the background: images are removed only as they become too many or too old, and only a pull
    /// adds one. One collection at a time is enough, because the next pull starts another.
    fn collect(&self, puller: &Puller, store: &Store, options: &ImageOptions) {
        let Some(limits) = options.collect.clone() else {
            return;
        };
        if self.is_collecting.swap(true, Ordering::AcqRel) {
            return;
        }
        let (store, pulls) = (store.clone(), Arc::clone(&options.pulls));
        let is_collecting = Arc::clone(&self.is_collecting);
        puller.handle.spawn_blocking(move || {
            let outcome = store.collect(&limits);
            is_collecting.store(false, Ordering::Release);
            pulls.collected(outcome);
        });
    }

    fn store(&self, options: &ImageOptions) -> Result<Store, ImageRunError> {
        let mut opened = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = &*opened {
            return Ok(store.clone());
        }
        let directory = options.store.as_ref().ok_or(ImageRunError::NoStore)?;
        let store = Store::open(directory, options.store_options.clone());
        let store = store.map_err(ImageRunError::OpenStore)?;
        store.check_executable().map_err(ImageRunError::OpenStore)?;
        Ok(opened.insert(store).clone())
    }

    fn puller(&self, options: &ImageOptions) -> Result<&Puller, ImageRunError> {
        if let Some(puller) = self.puller.get() {
            return Ok(puller);
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("kiln-pull")
            .enable_all()
            .build()
            .map_err(ImageRunError::Thread)?;
        let puller = Puller {
            handle: runtime.handle().clone(),
            runtime: Some(runtime),
            registry: RegistryClient::new(options.registry.clone()),
        };
        Ok(self.puller.get_or_init(|| puller))
    }
}

/// Why an image is not pulled: an error of the pull, or the caller does not wait any longer.
pub(crate) enum PullFailure {
    Failed(ImageRunError),
    Ended(RunError),
}

impl From<ImageRunError> for PullFailure {
    fn from(error: ImageRunError) -> PullFailure {
        PullFailure::Failed(error)
    }
}

type Pulled = Result<PulledImage, Arc<PullError>>;

impl Puller {
    /// The client for the registry of an image. Traffic to this machine can be read by no other one.
    fn registry_of(&self, reference: &ImageReference, options: &ImageOptions) -> RegistryClient {
        if !kiln_oci::is_local(reference.registry()) {
            return self.registry.clone();
        }
        let mut options = options.registry.clone();
        let plain_http = options.plain_http.entry(reference.registry().to_owned());
        plain_http.or_insert(PlainHttp::WithCredentials);
        RegistryClient::new(options)
    }

    /// Waits for a pull. A caller that gives up cancels it, unless others wait for the same image.
    fn wait_for(
        &self,
        pull: impl Future<Output = Pulled> + Send + 'static,
        ctx: &RunContext,
    ) -> Result<Pulled, PullFailure> {
        let (sender, events) = mpsc::channel();
        let cancelled = sender.clone();
        let _guard = ctx.cancel.on_cancel(move || {
            // A closed channel means that the pull has ended.
            let _ = cancelled.send(None);
        });
        let task = self.handle.spawn(async move {
            let _ = sender.send(Some(pull.await));
        });
        let event = match ctx.deadline {
            None => events.recv().ok(),
            Some(deadline) => {
                let left = deadline.at.saturating_duration_since(Instant::now());
                match events.recv_timeout(left) {
                    Ok(event) => Some(event),
                    Err(_) => {
                        task.abort();
                        return Err(PullFailure::Ended(RunError::TimedOut {
                            timeout: deadline.timeout,
                            stderr: Vec::new(),
                        }));
                    }
                }
            }
        };
        match event.flatten() {
            Some(pulled) => Ok(pulled),
            None => {
                task.abort();
                Err(PullFailure::Ended(RunError::Cancelled))
            }
        }
    }
}

fn parse(image: &str) -> Result<ImageReference, ImageRunError> {
    ImageReference::from_str(image).map_err(|source| ImageRunError::Reference {
        image: image.to_owned(),
        source,
    })
}
