//! Pulls images into the store.

mod layers;
mod run;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared, WeakShared};
use kiln_oci::{
    Digest, ErrorClass, ImageReference, LayerFormatError, Platform, PullPolicy, RegistryClient,
    RegistryError,
};

use run::RunningPull;
pub(crate) use run::blocking;

use crate::add::AddError;
use crate::error::StoreError;
use crate::image::StoredImage;
use crate::store::Store;
use crate::unpack::UnpackError;

/// Which image is needed, and when it is pulled.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PullRequest {
    pub reference: ImageReference,
    pub platform: Platform,
    pub policy: PullPolicy,
}

/// An image that is ready to use.
#[derive(Clone, Debug)]
pub struct PulledImage {
    pub image: StoredImage,
    /// The digest that the reference resolves to: an index or, without one, the image itself.
    pub digest: Digest,
    pub origin: PullOrigin,
}

/// How an image was found.
#[derive(Clone, Debug)]
pub enum PullOrigin {
    /// The store had the image, and no registry was asked.
    Store,
    /// The registry confirmed that the store has the present image.
    Confirmed,
    /// The image was pulled.
    Registry,
    /// The registry was not available, and the store had the image of an earlier pull.
    Offline(Arc<RegistryError>),
}

/// Why an image cannot be pulled.
#[derive(Debug, thiserror::Error)]
pub enum PullError {
    /// Begins as the errors of engines, which tools recognize.
    #[error("No such image: {0} is not in the store, and the pull policy is Never")]
    NotInStore(ImageReference),
    /// It was imported or pulled for another machine.
    #[error("the store has {image} for {stored}, not for {wanted}")]
    OtherPlatform {
        image: ImageReference,
        /// A list of platforms.
        stored: String,
        wanted: Platform,
        /// Why the image for the platform is not pulled.
        source: Box<PullError>,
    },
    /// The caller that started the pull ended its async runtime. Another attempt succeeds.
    #[error("the pull was cancelled by the caller that started it")]
    RuntimeEnded,
    #[error(transparent)]
    Registry(#[from] RegistryError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("cannot use a layer of {image}")]
    LayerFormat {
        image: ImageReference,
        source: LayerFormatError,
    },
    #[error("cannot unpack {image}")]
    Unpack {
        image: ImageReference,
        source: UnpackError,
    },
}

impl PullError {
    fn of_add(image: &ImageReference, error: AddError) -> PullError {
        let image = image.clone();
        match error {
            AddError::Store(error) => error.into(),
            AddError::LayerFormat(source) => PullError::LayerFormat { image, source },
            AddError::Unpack(source) => PullError::Unpack { image, source },
        }
    }
}

/// Receives the progress of a pull.
pub trait PullProgress: Send + Sync {
    fn event(&self, event: PullEvent);
}

/// A step of a pull.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PullEvent {
    /// Another process adds the same image.
    Waiting,
    /// The layers that are not in the store, and their size in bytes.
    Started { layers: usize, bytes: u64 },
    /// Bytes of layers.
    Received { bytes: u64 },
    /// A layer is unpacked; there are `layers` in all.
    Unpacked { layer: usize, layers: usize },
}

impl PullProgress for () {
    fn event(&self, _: PullEvent) {}
}

impl PullError {
    /// The class of the error, as for errors of registries.
    pub fn class(&self) -> ErrorClass {
        match self {
            PullError::NotInStore(_) => ErrorClass::NotFound,
            PullError::OtherPlatform { source, .. } => source.class(),
            PullError::RuntimeEnded => ErrorClass::Unavailable,
            PullError::Registry(error) => error.class(),
            PullError::Store(_) | PullError::LayerFormat { .. } | PullError::Unpack { .. } => {
                ErrorClass::Internal
            }
        }
    }
}

impl Store {
    /// Finds an image, and pulls it if the policy asks for that. Callers that need the same image at the same time share one
    /// pull, which ends when none of them waits; the first one gets its progress.
    pub async fn pull(
        &self,
        registry: &RegistryClient,
        request: &PullRequest,
        progress: Arc<dyn PullProgress>,
    ) -> Result<PulledImage, Arc<PullError>> {
        let start = || {
            let pull = RunningPull {
                store: self.clone(),
                registry: registry.clone(),
                request: request.clone(),
                progress,
            };
            let pulled = async move { pull.run().await.map_err(Arc::new) };
            pulled.boxed()
        };
        self.pending_pulls().join(request, start).await
    }
}

/// The pulls of this process that are not finished.
#[derive(Default)]
pub(crate) struct PendingPulls {
    pulls: Mutex<HashMap<PullRequest, WeakShared<PullFuture>>>,
}

type PullFuture = BoxFuture<'static, Result<PulledImage, Arc<PullError>>>;

impl PendingPulls {
    /// The running pull for a request, or a new one.
    fn join(
        &self,
        request: &PullRequest,
        start: impl FnOnce() -> PullFuture,
    ) -> Shared<PullFuture> {
        let pulls = self.pulls.lock();
        let mut pulls = pulls.unwrap_or_else(PoisonError::into_inner);
        pulls.retain(|_, pull| {
            let pull = pull.upgrade();
            pull.is_some_and(|pull| pull.peek().is_none())
        });
        if let Some(pull) = pulls.get(request).and_then(WeakShared::upgrade) {
            return pull;
        }
        let pull = start().shared();
        if let Some(weak) = pull.downgrade() {
            pulls.insert(request.clone(), weak);
        }
        pull
    }
}

impl fmt::Debug for PendingPulls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingPulls").finish_non_exhaustive()
    }
}
