//! One pull, step by step.

use std::sync::Arc;

use kiln_oci::{ErrorClass, Platform, PullPolicy, RegistryClient, RegistryError, ResolvedImage};

use tokio::task::{JoinError, JoinHandle};

use super::layers::Downloads;
use super::{PullError, PullEvent, PullOrigin, PullProgress, PullRequest, PulledImage};
use crate::add::{ImageParts, NewImage};
use crate::cancel::{CancelFlag, CancelOnDrop};
use crate::error::StoreError;
use crate::image::StoredImage;
use crate::references::ResolvedReference;
use crate::store::Store;

pub(super) struct RunningPull {
    pub(super) store: Store,
    pub(super) registry: RegistryClient,
    pub(super) request: PullRequest,
    pub(super) progress: Arc<dyn PullProgress>,
}

impl RunningPull {
    pub(super) async fn run(self) -> Result<PulledImage, PullError> {
        let (store, request) = (self.store.clone(), self.request.clone());
        let error = match self.find_or_pull().await {
            Err(error @ (PullError::NotInStore(_) | PullError::Registry(_))) => error,
            ended => return ended,
        };
        if !matches!(
            error.class(),
            ErrorClass::NotFound | ErrorClass::Unavailable
        ) {
            return Err(error);
        }
        let (image, wanted) = (request.reference.clone(), request.platform.clone());
        let stored = blocking(move || store.other_platforms(&request.reference, &request.platform));
        let stored: Vec<String> = stored.await?.iter().map(Platform::to_string).collect();
        Err(match stored.is_empty() {
            true => error,
            false => PullError::OtherPlatform {
                image,
                stored: stored.join(", "),
                wanted,
                source: Box::new(error),
            },
        })
    }

    async fn find_or_pull(self) -> Result<PulledImage, PullError> {
        let PullRequest {
            reference,
            platform,
            policy,
        } = self.request.clone();
        // A digest always names the same image.
        if policy != PullPolicy::Always || reference.digest().is_some() {
            if let Some((image, digest)) = self.find().await? {
                return Ok(PulledImage {
                    image,
                    digest,
                    origin: PullOrigin::Store,
                });
            }
            if policy == PullPolicy::Never {
                return Err(PullError::NotInStore(reference));
            }
        }
        match self.registry.image(&reference, &platform).await {
            Ok(resolved) => self.add(resolved).await,
            Err(error) => self.find_instead(error).await,
        }
    }

    /// The image and the digest that the reference resolved to, if the store has it.
    async fn find(&self) -> Result<Option<(StoredImage, kiln_oci::Digest)>, PullError> {
        let (store, request) = (self.store.clone(), self.request.clone());
        blocking(move || {
            let PullRequest {
                reference,
                platform,
                ..
            } = &request;
            match store.find_resolved(reference, platform) {
                // It is pulled again.
                Err(StoreError::Damaged { .. }) => Ok(None),
                found => found,
            }
        })
        .await
    }

    /// The image of an earlier pull, if the registry's error leaves open whether it changed.
    async fn find_instead(&self, error: RegistryError) -> Result<PulledImage, PullError> {
        if error.leaves_tag_unknown()
            && let Some((image, digest)) = self.find().await?
        {
            return Ok(PulledImage {
                image,
                digest,
                origin: PullOrigin::Offline(Arc::new(error)),
            });
        }
        Err(error.into())
    }

    /// Adds the image that the registry returned, unless the store has it.
    async fn add(self, resolved: ResolvedImage) -> Result<PulledImage, PullError> {
        let RunningPull {
            store,
            registry,
            request,
            progress,
        } = self;
        let ResolvedImage {
            digest,
            manifest_digest,
            config,
            config_digest,
            config_media_type,
            layers,
            documents,
        } = resolved;
        let parts = ImageParts {
            manifest_digest,
            config_digest,
            config_media_type,
            config,
            layers,
        };
        let record = ResolvedReference::new(
            &request.reference,
            &request.platform,
            &digest,
            &parts.manifest_digest,
        );
        // When this future is dropped, nothing needs the image any more.
        let cancel = CancelOnDrop::default();
        let step = AddStep {
            documents,
            cancel: cancel.flag.clone(),
            store: store.clone(),
            parts: parts.clone(),
            progress: Arc::clone(&progress),
        };
        let begun = blocking(move || step.begin(&record)).await?;
        let (locks, image, origin) = match begun {
            Begun::Stored(image) => (None, image, PullOrigin::Confirmed),
            Begun::Locked(locks) => {
                let start = || {
                    let progress = Arc::clone(&progress);
                    Downloads::start(&store, &registry, &request, &parts, progress, &cancel.flag)
                };
                let image = download_and_unpack(&store, &parts, &start).await?;
                (Some(locks), image, PullOrigin::Registry)
            }
        };
        if let Some(locks) = locks {
            blocking(move || locks.finish()).await?;
        }
        Ok(PulledImage {
            image,
            digest,
            origin,
        })
    }
}

/// Adds an image. If a layer that the store had before is damaged, it is downloaded, and all layers are unpacked again.
async fn download_and_unpack(
    store: &Store,
    parts: &ImageParts,
    start: &(dyn Fn() -> Downloads + Send + Sync),
) -> Result<StoredImage, PullError> {
    let downloads = start();
    let present = downloads.present();
    let error = match downloads.unpack(store, parts.clone()).await {
        Err(error @ (PullError::LayerFormat { .. } | PullError::Unpack { .. })) => error,
        ended => return ended,
    };
    let checked = store.clone();
    match blocking(move || checked.remove_damaged_blobs(&present)).await? {
        true => start().unpack(store, parts.clone()).await,
        false => Err(error),
    }
}

/// The blocking beginning of an addition.
struct AddStep {
    /// Manifests and the config.
    documents: Vec<(kiln_oci::Digest, bytes::Bytes)>,
    cancel: CancelFlag,
    store: Store,
    parts: ImageParts,
    progress: Arc<dyn PullProgress>,
}

enum Begun {
    /// The store has the image.
    Stored(StoredImage),
    /// The image can be added.
    Locked(Box<AddLocks>),
}

impl AddStep {
    fn begin(self, record: &ResolvedReference) -> Result<Begun, StoreError> {
        let AddStep {
            documents,
            cancel,
            store,
            parts,
            progress,
        } = self;
        let open = || match StoredImage::open(&store, &parts.manifest_digest) {
            // It is replaced.
            Err(StoreError::Damaged { .. }) => Ok(None),
            found => found,
        };
        let has =
            |(digest, bytes): &(kiln_oci::Digest, bytes::Bytes)| store.has_content(digest, bytes);
        // A store that has everything need not be writable.
        if let Some(image) = open()?
            && store.has_resolved(record)?
            && documents.iter().all(has)
        {
            return Ok(Begun::Stored(image));
        }
        store.remove_abandoned_work()?;
        let blob_lock = store.lock_blobs(&cancel)?;
        let work = store.work_directory()?;
        for (digest, bytes) in &documents {
            store.write_blob(&work, digest, bytes)?;
        }
        let on_wait = || progress.event(PullEvent::Waiting);
        let image_lock = store.lock_image(&parts.manifest_digest, &cancel, &on_wait)?;
        if let Some(image) = open()? {
            store.write_resolved(&work, record)?;
            return Ok(Begun::Stored(image));
        }
        Ok(Begun::Locked(Box::new(AddLocks {
            store,
            record: record.clone(),
            work,
            _image_lock: image_lock,
            _blob_lock: blob_lock,
        })))
    }
}

/// The locks of an image that is being added.
struct AddLocks {
    store: Store,
    record: ResolvedReference,
    work: crate::work::WorkDirectory,
    _image_lock: crate::add::AddLock,
    _blob_lock: crate::lock::FileLock,
}

impl AddLocks {
    /// Stores what the reference resolved to, after the image is visible.
    fn finish(self) -> Result<(), StoreError> {
        self.store.write_resolved(&self.work, &self.record)
    }
}

impl Downloads {
    /// Unpacks the layers in order, while later ones are downloaded.
    async fn unpack(mut self, store: &Store, parts: ImageParts) -> Result<StoredImage, PullError> {
        let reference = self.reference.clone();
        let as_pull_error = |error| PullError::of_add(&reference, error);
        let layers = parts.layers.len();
        let store = store.clone();
        let begun = run_blocking(move || NewImage::begin(&store, parts)).await?;
        let mut image = begun.map_err(as_pull_error)?;
        for layer in 0..layers {
            self.wait_for(layer).await?;
            let cancel = self.cancel.clone();
            let unpacked = run_blocking(move || {
                image.unpack_layer(layer, &cancel)?;
                Ok(image)
            });
            image = unpacked.await?.map_err(as_pull_error)?;
            let layer = layer + 1;
            self.progress.event(PullEvent::Unpacked { layer, layers });
        }
        let published = run_blocking(move || image.publish()).await?;
        published.map_err(as_pull_error)
    }
}

/// Does blocking work on another thread.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, PullError> {
    run_blocking(work).await?.map_err(PullError::Store)
}

async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, PullError> {
    joined(&mut tokio::task::spawn_blocking(work)).await
}

/// Waits for a task. A panic there continues here.
pub(super) async fn joined<T>(task: &mut JoinHandle<T>) -> Result<T, PullError> {
    match task.await.map_err(JoinError::try_into_panic) {
        Ok(result) => Ok(result),
        Err(Ok(panic)) => std::panic::resume_unwind(panic),
        Err(Err(_)) => Err(PullError::RuntimeEnded),
    }
}
