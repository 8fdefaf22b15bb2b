//! Downloads the layers of an image, several at a time, each one once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kiln_oci::{Descriptor, Digest, DownloadError, ImageReference, RegistryClient, RegistryError};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use super::run::{blocking, joined};
use super::{PullError, PullEvent, PullProgress, PullRequest};
use crate::add::ImageParts;
use crate::cancel::CancelFlag;
use crate::error::StoreError;
use crate::list::remove_file;
use crate::lock::{FileLock, LockMode};
use crate::store::{Store, file_name};

/// How many layers are downloaded at the same time.
const AT_ONCE: usize = 4;

/// Downloads that are running. Dropping them ends them.
pub(super) struct Downloads {
    pub(super) reference: ImageReference,
    pub(super) progress: Arc<dyn PullProgress>,
    pub(super) cancel: CancelFlag,
    layers: Vec<Descriptor>,
    tasks: BTreeMap<Digest, DownloadTask>,
}

/// A task that ends when it is dropped.
struct DownloadTask(JoinHandle<Result<(), PullError>>);

impl Drop for DownloadTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Downloads {
    /// Starts to download the layers that the store does not have.
    pub(super) fn start(
        store: &Store,
        registry: &RegistryClient,
        request: &PullRequest,
        parts: &ImageParts,
        progress: Arc<dyn PullProgress>,
        cancel: &CancelFlag,
    ) -> Downloads {
        let mut seen = BTreeSet::new();
        let is_missing =
            |layer: &&Descriptor| seen.insert(layer.digest.clone()) && !store.has_blob(layer);
        let missing: Vec<&Descriptor> = parts.layers.iter().filter(is_missing).collect();
        progress.event(PullEvent::Started {
            layers: missing.len(),
            bytes: missing.iter().map(|layer| layer.size).sum(),
        });
        let slots = Arc::new(Semaphore::new(AT_ONCE));
        let tasks = missing.into_iter().map(|layer| {
            let download = Download {
                store: store.clone(),
                registry: registry.clone(),
                reference: request.reference.clone(),
                layer: layer.clone(),
                progress: Arc::clone(&progress),
                cancel: cancel.clone(),
            };
            let slots = Arc::clone(&slots);
            let task = async move {
                // The semaphore is never closed.
                let _slot = slots.acquire_owned().await;
                download.run().await
            };
            (layer.digest.clone(), DownloadTask(tokio::spawn(task)))
        });
        Downloads {
            reference: request.reference.clone(),
            tasks: tasks.collect(),
            layers: parts.layers.clone(),
            progress,
            cancel: cancel.clone(),
        }
    }

    /// The layers that the store had before.
    pub(super) fn present(&self) -> Vec<Digest> {
        let layers = self.layers.iter().map(|layer| &layer.digest);
        let present = layers.filter(|digest| !self.tasks.contains_key(digest));
        present.cloned().collect()
    }

    /// Waits until a layer is in the store.
    pub(super) async fn wait_for(&mut self, index: usize) -> Result<(), PullError> {
        let layer = self.layers.get(index);
        let Some(mut task) = layer.and_then(|layer| self.tasks.remove(&layer.digest)) else {
            return Ok(());
        };
        joined(&mut task.0).await?
    }
}

struct Download {
    store: Store,
    registry: RegistryClient,
    reference: ImageReference,
    layer: Descriptor,
    progress: Arc<dyn PullProgress>,
    cancel: CancelFlag,
}

impl Download {
    /// Downloads a layer into a file of its own, which becomes a blob when it is complete. Another process that downloads the
    /// same layer is waited for; what an interrupted download left is continued.
    async fn run(self) -> Result<(), PullError> {
        let Download {
            store,
            registry,
            reference,
            layer,
            progress,
            cancel,
        } = self;
        let limit = store.options().limits.image_bytes;
        if layer.size > limit {
            let subject = format!("layer {} of {reference}", layer.digest);
            return Err(RegistryError::TooLarge { subject, limit }.into());
        }
        let path = store.partial_path().join(file_name(&layer.digest));
        let (at, wanted) = (path.clone(), layer.clone());
        let in_store = store.clone();
        let opened = blocking(move || {
            let lock = FileLock::acquire(&at, LockMode::Exclusive, &cancel);
            let lock = lock.map_err(StoreError::io("create", &at))?;
            if in_store.has_blob(&wanted) {
                remove_file(&at)?;
                return Ok(None);
            }
            let file = lock.file().try_clone();
            let file = file.map_err(StoreError::io("open", &at))?;
            Ok(Some((lock, file)))
        });
        let Some((lock, file)) = opened.await? else {
            return Ok(());
        };
        let received = |bytes| progress.event(PullEvent::Received { bytes });
        let downloaded = registry.download(&reference, &layer, file, &received).await;
        downloaded.map_err(|error| match error {
            DownloadError::Registry(error) => PullError::Registry(error),
            DownloadError::File(error) => StoreError::io("write", &path)(error).into(),
        })?;
        blocking(move || {
            // Under its name it is complete, also after the system crashed.
            let synced = lock.file().sync_data();
            synced.map_err(StoreError::io("write", &path))?;
            store.adopt_blob(&path, &layer.digest)?;
            drop(lock);
            Ok(())
        })
        .await
    }
}
