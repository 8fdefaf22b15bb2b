//! What is done to the cluster. Each of these says itself what came of it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::Instant;

use super::house::{RELEASED, unix_now};
use super::message::Message;
use crate::api::{Api, ApiError, Collection, Selector, StillIs, retry};
use crate::cache_file::CacheFile;
use crate::images::Images;
use crate::keys::{LEASE_LABEL, RECLAIM_AFTER, REPLICA_LABEL};
use crate::local::LocalExecutors;
use crate::objects::{self, PodSettings};
use crate::pull_secret::PullSecretCopy;
use crate::replicas::DeadLease;
use crate::state::{Event, ImageKey, PodId};
use crate::template::Templates;
use crate::views::{LeaseView, PodView};
use crate::world::replica_of;

/// How long something is tried that nobody waits for. The machine says it again if need be.
const PATIENCE: Duration = Duration::from_secs(30);

/// Everything that is needed to do things.
pub(super) struct Hands {
    pub(super) api: Api,
    pub(super) to: UnboundedSender<Message>,
    /// Our name as pods carry it.
    pub(super) me: String,
    pub(super) settings: PodSettings,
    pub(super) images: Arc<dyn Images>,
    pub(super) local: Arc<dyn LocalExecutors>,
    /// What was written into FunctionConfigs. Replicas that see different things must not contradict each other for ever.
    pub(super) said: Mutex<HashMap<String, Value>>,
    pub(super) pull_secret: Option<PullSecretCopy>,
    pub(super) cache_file: Option<Arc<CacheFile>>,
    pub(super) pods: Collection,
    pub(super) services: Collection,
    pub(super) leases: Collection,
    pub(super) configs: Collection,
    /// The name of our lease.
    pub(super) lease: String,
}

impl Hands {
    pub(super) fn send(&self, message: Message) {
        // Without anybody who listens there is nothing left to do.
        let _ = self.to.send(message);
    }

    pub(super) fn tell(&self, event: Event) {
        self.send(Message::Tell(event));
    }

    /// Deletes a pod of ours and its service.
    pub(super) async fn delete_pod(&self, pod: PodId, name: &str, uid: Option<String>) {
        let still_is = StillIs {
            uid,
            resource_version: None,
        };
        let deleted = retry(soon(), || async {
            let deleted = self.api.delete(&self.pods, name, still_is.clone()).await;
            // One that has another identity is another pod: ours is gone.
            match deleted {
                Err(error) if error.is_conflict() => Ok(false),
                Err(error) if error.is_not_found() => Ok(false),
                deleted => deleted.map(|()| true),
            }
        });
        match deleted.await {
            Ok(is_going) => {
                self.delete_service(name, None).await;
                if !is_going {
                    self.tell(Event::Gone { pod });
                }
            }
            Err(error) => tracing::warn!(pod = name, "cannot delete a pod: {error}"),
        }
    }

    /// Deletes a service; with its pod it goes by itself, only later.
    pub(super) async fn delete_service(&self, name: &str, uid: Option<String>) {
        let still_is = StillIs {
            uid,
            resource_version: None,
        };
        let deleted = retry(soon(), || async {
            let deleted = self
                .api
                .delete(&self.services, name, still_is.clone())
                .await;
            match deleted {
                Err(error) if error.is_not_found() || error.is_conflict() => Ok(()),
                deleted => deleted,
            }
        });
        if let Err(error) = deleted.await {
            tracing::warn!(service = name, "cannot delete a service: {error}");
        }
    }

    /// Creates the service of a pod, unless it is there.
    pub(super) async fn create_service(
        &self,
        templates: &Templates,
        name: &str,
        uid: &str,
    ) -> Result<(), ApiError> {
        let service = objects::service(templates, &self.settings, name, &self.me, uid);
        retry(soon(), || async {
            let created = self
                .api
                .create::<serde::de::IgnoredAny>(&self.services, &service)
                .await;
            match created {
                Err(error) if error.is_already_there() => Ok(()),
                created => created.map(drop),
            }
        })
        .await
    }

    pub(super) async fn annotate(&self, name: &str, reclaim_in: Duration) {
        let after = unix_now().saturating_add(reclaim_in.as_secs());
        let change = json!({"metadata": {"annotations": {RECLAIM_AFTER: after.to_string()}}});
        let patched = self
            .api
            .patch::<serde::de::IgnoredAny>(&self.pods, name, &change)
            .await;
        if let Err(error) = patched
            && !error.is_not_found()
        {
            tracing::warn!(pod = name, "cannot write how long a pod may stay: {error}");
        }
    }

    /// Makes a pod ours, if it is still whose it was.
    pub(super) async fn adopt(&self, pod: PodId, view: PodView) {
        let name = view.metadata.name.clone();
        match self.relabel(view, &self.me).await {
            Changed::Done => {
                let change = json!({"metadata": {"labels": {REPLICA_LABEL: self.me}}});
                let service =
                    self.api
                        .patch::<serde::de::IgnoredAny>(&self.services, &name, &change);
                if let Err(error) = service.await
                    && !error.is_not_found()
                {
                    tracing::warn!(service = name, "cannot adopt a service: {error}");
                }
                tracing::info!(pod = name, "adopted a pod");
                self.send(Message::Adopted(pod));
            }
            Changed::Gone => self.tell(Event::Gone { pod }),
            Changed::Others => self.tell(Event::Disowned { pod }),
        }
    }

    /// Gives a pod back.
    pub(super) async fn release(&self, view: PodView) {
        self.relabel(view, RELEASED).await;
    }

    /// Writes another replica into a pod, if nobody else does.
    async fn relabel(&self, mut view: PodView, replica: &str) -> Changed {
        let name = view.metadata.name.clone();
        let before = replica_of(&view.metadata).map(str::to_owned);
        let until = soon();
        loop {
            let version = view.metadata.resource_version.clone();
            let change = json!({"metadata": {
                "uid": view.metadata.uid,
                "resourceVersion": version,
                "labels": {REPLICA_LABEL: replica},
            }});
            let patched = self
                .api
                .patch::<serde::de::IgnoredAny>(&self.pods, &name, &change)
                .await;
            match patched {
                Ok(_) => return Changed::Done,
                Err(error) if error.is_not_found() => return Changed::Gone,
                Err(error) if error.is_passing() && Instant::now() < until => (),
                Err(error) => {
                    tracing::warn!(pod = name, "cannot say whose a pod is: {error}");
                    return Changed::Others;
                }
            }
            match self.again(&name, before.as_deref(), &view, until).await {
                Ok(Some(now)) if replica_of(&now.metadata) == Some(replica) => {
                    return Changed::Done;
                }
                Ok(Some(now)) => view = now,
                Ok(None) => return Changed::Others,
                Err(error) if error.is_not_found() => return Changed::Gone,
                Err(_) => return Changed::Others,
            }
        }
    }

    /// Deletes a pod of nobody, if it still is nobody's.
    pub(super) async fn collect(&self, pod: PodId, mut view: PodView) {
        let name = view.metadata.name.clone();
        let before = replica_of(&view.metadata).map(str::to_owned);
        let until = soon();
        loop {
            let still_is = StillIs {
                uid: Some(view.metadata.uid.clone()),
                resource_version: Some(view.metadata.resource_version.clone()),
            };
            match self.api.delete(&self.pods, &name, still_is).await {
                Ok(()) => {
                    tracing::info!(pod = name, "collected a pod that was nobody's");
                    return self.delete_service(&name, None).await;
                }
                Err(error) if error.is_not_found() => return self.tell(Event::Gone { pod }),
                Err(error) if error.is_passing() && Instant::now() < until => (),
                Err(error) => {
                    tracing::warn!(pod = name, "cannot collect a pod: {error}");
                    return self.tell(Event::Disowned { pod });
                }
            }
            match self.again(&name, before.as_deref(), &view, until).await {
                Ok(Some(now)) => view = now,
                Err(error) if error.is_not_found() => return self.tell(Event::Gone { pod }),
                Ok(None) | Err(_) => return self.tell(Event::Disowned { pod }),
            }
        }
    }

    /// The pod as it is now; none if it belongs to somebody else than before and than us.
    async fn again(
        &self,
        name: &str,
        before: Option<&str>,
        seen: &PodView,
        until: Instant,
    ) -> Result<Option<PodView>, ApiError> {
        let now: PodView = retry(until, || self.api.get(&self.pods, name)).await?;
        let replica = replica_of(&now.metadata);
        let is_same = now.metadata.uid == seen.metadata.uid;
        let is_free = replica == before || replica == Some(&self.me) || replica == Some(RELEASED);
        Ok((is_same && is_free).then_some(now))
    }

    /// Writes into a FunctionConfig what was seen of it.
    pub(super) async fn acknowledge(
        &self,
        name: &str,
        finalizer: Option<Value>,
        status: Option<Value>,
    ) {
        if let Some(change) = finalizer {
            // Nobody else says again that ours is to go.
            let patched = retry(soon(), || async {
                let patch = self
                    .api
                    .patch::<serde::de::IgnoredAny>(&self.configs, name, &change);
                match patch.await {
                    // Somebody else has changed it: then it is seen again, and so is this.
                    Err(error) if error.is_conflict() => Ok(()),
                    patched => patched.map(drop),
                }
            });
            complain(name, patched.await);
        }
        if let Some(change) = status
            && self.said().get(name) != Some(&change)
        {
            let patched = self.api.patch_status(&self.configs, name, &change).await;
            if patched.is_ok() {
                self.said().insert(name.to_owned(), change);
            }
            complain(name, patched);
        }
    }

    /// A FunctionConfig is gone; another one of its name is another one.
    pub(super) fn forget_config(&self, name: &str) {
        self.said().remove(name);
    }

    fn said(&self) -> std::sync::MutexGuard<'_, HashMap<String, Value>> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks what an image's reference stands for now.
    pub(super) async fn resolve_again(&self, image: ImageKey) {
        match self.images.resolve(image.as_str()).await {
            Ok(info) => self.send(Message::Resolved {
                image,
                digest: info.digest,
            }),
            Err(error) => tracing::debug!("cannot ask anew what {image} is: {error}"),
        }
    }

    pub(super) async fn check_pull_secret(&self) {
        if let Some(copy) = &self.pull_secret
            && let Err(error) = copy.check(&self.api).await
        {
            tracing::warn!("the secret that images are pulled with: {error}");
        }
    }

    /// Reads the file of settings again if it has changed.
    pub(super) async fn refresh_cache_config(&self) {
        let Some(file) = self.cache_file.clone() else {
            return;
        };
        let refreshed = tokio::task::spawn_blocking(move || file.refresh()).await;
        if let Ok(Some(entries)) = refreshed {
            self.send(Message::Cache(entries));
        }
    }

    /// Deletes the lease of a replica that is gone.
    pub(super) async fn delete_lease(&self, lease: DeadLease) {
        let still_is = StillIs {
            uid: Some(lease.uid),
            resource_version: Some(lease.version),
        };
        match self.api.delete(&self.leases, &lease.name, still_is).await {
            Err(error) if !error.is_not_found() && !error.is_conflict() => {
                tracing::warn!(
                    lease = lease.name,
                    "cannot delete the lease of a replica that is gone: {error}"
                );
            }
            _ => (),
        }
    }

    /// Deletes our own lease.
    pub(super) async fn drop_lease(&self) -> Result<(), ApiError> {
        match self
            .api
            .delete(&self.leases, &self.lease, StillIs::default())
            .await
        {
            Err(error) if error.is_not_found() => Ok(()),
            deleted => deleted,
        }
    }
}

impl Hands {
    /// The last of all replicas takes the secret away that pods were pulled with, unless some of them are left.
    pub(super) async fn drop_pull_secret(&self) {
        let Some(copy) = &self.pull_secret else {
            return;
        };
        let others = Selector::labels(LEASE_LABEL);
        let others = self.api.list::<LeaseView>(&self.leases, &others).await;
        // Without our own lease, which is gone by now, none is left if we are the last.
        if !matches!(others, Ok((leases, _)) if leases.is_empty()) {
            return;
        }
        if let Err(error) = copy.remove(&self.api, &self.pods).await {
            tracing::warn!("the secret that images were pulled with is left: {error}");
        }
    }
}

/// What came of a change to a pod that others may change.
enum Changed {
    Done,
    Gone,
    Others,
}

fn complain(name: &str, outcome: Result<(), ApiError>) {
    match outcome {
        Err(error) if !error.is_conflict() && !error.is_not_found() => {
            tracing::warn!("cannot write what was seen of FunctionConfig {name}: {error}");
        }
        _ => (),
    }
}

fn soon() -> Instant {
    Instant::now() + PATIENCE
}
