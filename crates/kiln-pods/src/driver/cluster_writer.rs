//! Writes to the cluster. Each operation reports its own result to the driver.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::Instant;

use super::controller::RELEASED_REPLICA;
use super::maintenance::unix_now;
use super::message::Message;
use crate::config::cache_file::CacheFile;
use crate::config::function_config::LocalExecutors;
use crate::config::template::Templates;
use crate::images::ImageResolver;
use crate::kube::api::{
    Api, ApiError, DeletePreconditions, ObjectSelector, ResourceCollection, retry,
};
use crate::kube::cluster_view::replica_of;
use crate::kube::names::{LEASE_LABEL, RECLAIM_AFTER, REPLICA_LABEL};
use crate::kube::objects::{self, PodSettings};
use crate::kube::pull_secret::PullSecretSync;
use crate::kube::replicas::ExpiredLease;
use crate::kube::views::{LeaseView, PodView};
use crate::pool::{ImageKey, PodId, PoolEvent};

/// How long an operation that no caller waits for is retried. The state machine repeats it if necessary.
const RETRY_TIMEOUT: Duration = Duration::from_secs(30);

/// What the tasks of the driver need to write to the cluster.
pub(super) struct ClusterWriter {
    pub(super) api: Api,
    pub(super) messages: UnboundedSender<Message>,
    /// The name of this replica, as a label value.
    pub(super) replica: String,
    pub(super) settings: PodSettings,
    pub(super) images: Arc<dyn ImageResolver>,
    pub(super) local_executors: Arc<dyn LocalExecutors>,
    /// The last status written to each FunctionConfig. It prevents replicas with different settings from overwriting
    /// each other's status forever.
    pub(super) written_status: Mutex<HashMap<String, Value>>,
    pub(super) pull_secret: Option<PullSecretSync>,
    pub(super) cache_file: Option<Arc<CacheFile>>,
    pub(super) pods: ResourceCollection,
    pub(super) services: ResourceCollection,
    pub(super) leases: ResourceCollection,
    pub(super) configs: ResourceCollection,
    pub(super) lease_name: String,
}

impl ClusterWriter {
    pub(super) fn send(&self, message: Message) {
        // Without a receiver the driver has ended, and the message is obsolete.
        let _ = self.messages.send(message);
    }

    pub(super) fn send_event(&self, event: PoolEvent) {
        self.send(Message::Event(event));
    }

    /// Deletes one of this replica's pods and its service.
    pub(super) async fn delete_pod(&self, pod: PodId, name: &str, uid: Option<String>) {
        let preconditions = DeletePreconditions {
            uid,
            resource_version: None,
        };
        let deleted = retry(retry_deadline(), || async {
            let deleted = self
                .api
                .delete(&self.pods, name, preconditions.clone())
                .await;
            // A pod of the same name with another UID is another pod.
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
                    self.send_event(PoolEvent::Gone { pod });
                }
            }
            Err(error) => tracing::warn!(pod = name, "cannot delete pod: {error}"),
        }
    }

    /// Deletes a service. Kubernetes deletes it with its pod as well, but later.
    pub(super) async fn delete_service(&self, name: &str, uid: Option<String>) {
        let preconditions = DeletePreconditions {
            uid,
            resource_version: None,
        };
        let deleted = retry(retry_deadline(), || async {
            let deleted = self
                .api
                .delete(&self.services, name, preconditions.clone())
                .await;
            match deleted {
                Err(error) if error.is_not_found() || error.is_conflict() => Ok(()),
                deleted => deleted,
            }
        });
        if let Err(error) = deleted.await {
            tracing::warn!(service = name, "cannot delete service: {error}");
        }
    }

    /// Creates the service of a pod unless it exists.
    pub(super) async fn create_service(
        &self,
        templates: &Templates,
        name: &str,
        uid: &str,
    ) -> Result<(), ApiError> {
        let service = objects::service(templates, &self.settings, name, &self.replica, uid);
        retry(retry_deadline(), || async {
            let created = self
                .api
                .create::<serde::de::IgnoredAny>(&self.services, &service)
                .await;
            match created {
                Err(error) if error.is_already_exists() => Ok(()),
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
            tracing::warn!(
                pod = name,
                "cannot update the reclaim annotation of the pod: {error}"
            );
        }
    }

    /// Adopts a pod unless its owner has changed.
    pub(super) async fn adopt(&self, pod: PodId, view: PodView) {
        let name = view.metadata.name.clone();
        match self.relabel(view, &self.replica).await {
            Relabelled::Done => {
                let change = json!({"metadata": {"labels": {REPLICA_LABEL: self.replica}}});
                let service =
                    self.api
                        .patch::<serde::de::IgnoredAny>(&self.services, &name, &change);
                if let Err(error) = service.await
                    && !error.is_not_found()
                {
                    tracing::warn!(service = name, "cannot adopt service: {error}");
                }
                tracing::info!(pod = name, "adopted pod");
                self.send(Message::Adopted(pod));
            }
            Relabelled::Gone => self.send_event(PoolEvent::Gone { pod }),
            Relabelled::OwnedByOther => self.send_event(PoolEvent::Disowned { pod }),
        }
    }

    /// Releases a pod so that another replica can adopt it.
    pub(super) async fn release(&self, view: PodView) {
        self.relabel(view, RELEASED_REPLICA).await;
    }

    /// Changes the replica label of a pod unless another replica changes it first.
    async fn relabel(&self, mut view: PodView, replica: &str) -> Relabelled {
        let name = view.metadata.name.clone();
        let before = replica_of(&view.metadata).map(str::to_owned);
        let until = retry_deadline();
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
                Ok(_) => return Relabelled::Done,
                Err(error) if error.is_not_found() => return Relabelled::Gone,
                Err(error) if error.is_retryable() && Instant::now() < until => (),
                Err(error) => {
                    tracing::warn!(
                        pod = name,
                        "cannot change the replica label of the pod: {error}"
                    );
                    return Relabelled::OwnedByOther;
                }
            }
            match self.refetch(&name, before.as_deref(), &view, until).await {
                Ok(Some(now)) if replica_of(&now.metadata) == Some(replica) => {
                    return Relabelled::Done;
                }
                Ok(Some(now)) => view = now,
                Ok(None) => return Relabelled::OwnedByOther,
                Err(error) if error.is_not_found() => return Relabelled::Gone,
                Err(_) => return Relabelled::OwnedByOther,
            }
        }
    }

    /// Deletes an orphan unless its owner has changed.
    pub(super) async fn collect(&self, pod: PodId, mut view: PodView) {
        let name = view.metadata.name.clone();
        let before = replica_of(&view.metadata).map(str::to_owned);
        let until = retry_deadline();
        loop {
            let preconditions = DeletePreconditions {
                uid: Some(view.metadata.uid.clone()),
                resource_version: Some(view.metadata.resource_version.clone()),
            };
            match self.api.delete(&self.pods, &name, preconditions).await {
                Ok(()) => {
                    tracing::info!(pod = name, "deleted orphaned pod");
                    return self.delete_service(&name, None).await;
                }
                Err(error) if error.is_not_found() => {
                    return self.send_event(PoolEvent::Gone { pod });
                }
                Err(error) if error.is_retryable() && Instant::now() < until => (),
                Err(error) => {
                    tracing::warn!(pod = name, "cannot delete orphaned pod: {error}");
                    return self.send_event(PoolEvent::Disowned { pod });
                }
            }
            match self.refetch(&name, before.as_deref(), &view, until).await {
                Ok(Some(now)) => view = now,
                Err(error) if error.is_not_found() => {
                    return self.send_event(PoolEvent::Gone { pod });
                }
                Ok(None) | Err(_) => return self.send_event(PoolEvent::Disowned { pod }),
            }
        }
    }

    /// Reads the pod again; `None` if a third replica owns it now.
    async fn refetch(
        &self,
        name: &str,
        before: Option<&str>,
        known: &PodView,
        until: Instant,
    ) -> Result<Option<PodView>, ApiError> {
        let now: PodView = retry(until, || self.api.get(&self.pods, name)).await?;
        let replica = replica_of(&now.metadata);
        let is_same = now.metadata.uid == known.metadata.uid;
        let is_free = replica == before
            || replica == Some(&self.replica)
            || replica == Some(RELEASED_REPLICA);
        Ok((is_same && is_free).then_some(now))
    }

    /// Writes the finalizer and the status of a FunctionConfig.
    pub(super) async fn acknowledge(
        &self,
        name: &str,
        finalizer: Option<Value>,
        status: Option<Value>,
    ) {
        if let Some(change) = finalizer {
            // The removal of the finalizer is not repeated later, so it is retried here.
            let patched = retry(retry_deadline(), || async {
                let patch = self
                    .api
                    .patch::<serde::de::IgnoredAny>(&self.configs, name, &change);
                match patch.await {
                    // The object has changed: the watch reports it again, and the finalizer is written then.
                    Err(error) if error.is_conflict() => Ok(()),
                    patched => patched.map(drop),
                }
            });
            log_status_error(name, patched.await);
        }
        if let Some(change) = status
            && self.written_status().get(name) != Some(&change)
        {
            let patched = self.api.patch_status(&self.configs, name, &change).await;
            if patched.is_ok() {
                self.written_status().insert(name.to_owned(), change);
            }
            log_status_error(name, patched);
        }
    }

    /// Drops the state of a FunctionConfig; a new object may have the same name.
    pub(super) fn forget_config(&self, name: &str) {
        self.written_status().remove(name);
    }

    fn written_status(&self) -> std::sync::MutexGuard<'_, HashMap<String, Value>> {
        self.written_status
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Resolves the image reference again.
    pub(super) async fn resolve_again(&self, image: ImageKey) {
        match self.images.resolve(image.as_str()).await {
            Ok(info) => self.send(Message::Resolved {
                image,
                digest: info.digest,
            }),
            Err(error) => tracing::debug!("cannot resolve image {image} again: {error}"),
        }
    }

    pub(super) async fn check_pull_secret(&self) {
        if let Some(copy) = &self.pull_secret
            && let Err(error) = copy.check(&self.api).await
        {
            tracing::warn!("cannot update the pull secret: {error}");
        }
    }

    /// Reads the pod cache config file again if it has changed.
    pub(super) async fn refresh_cache_config(&self) {
        let Some(file) = self.cache_file.clone() else {
            return;
        };
        let refreshed = tokio::task::spawn_blocking(move || file.refresh()).await;
        if let Ok(Some(entries)) = refreshed {
            self.send(Message::CacheConfig(entries));
        }
    }

    /// Deletes an expired lease of another replica.
    pub(super) async fn delete_lease(&self, lease: ExpiredLease) {
        let preconditions = DeletePreconditions {
            uid: Some(lease.uid),
            resource_version: Some(lease.version),
        };
        match self
            .api
            .delete(&self.leases, &lease.name, preconditions)
            .await
        {
            Err(error) if !error.is_not_found() && !error.is_conflict() => {
                tracing::warn!(
                    lease = lease.name,
                    "cannot delete the expired lease of another replica: {error}"
                );
            }
            _ => (),
        }
    }

    /// Deletes the lease of this replica.
    pub(super) async fn delete_own_lease(&self) -> Result<(), ApiError> {
        match self
            .api
            .delete(
                &self.leases,
                &self.lease_name,
                DeletePreconditions::default(),
            )
            .await
        {
            Err(error) if error.is_not_found() => Ok(()),
            deleted => deleted,
        }
    }
}

impl ClusterWriter {
    /// Deletes the pull secret if this is the last replica and no pod needs the secret.
    pub(super) async fn delete_unused_pull_secret(&self) {
        let Some(copy) = &self.pull_secret else {
            return;
        };
        let others = ObjectSelector::labels(LEASE_LABEL);
        let others = self.api.list::<LeaseView>(&self.leases, &others).await;
        // The lease of this replica is deleted by now, so the list is empty if there is no other replica.
        if !matches!(others, Ok((leases, _)) if leases.is_empty()) {
            return;
        }
        if let Err(error) = copy.remove(&self.api, &self.pods).await {
            tracing::warn!("cannot delete the pull secret: {error}");
        }
    }
}

/// The result of a change to the replica label.
enum Relabelled {
    Done,
    Gone,
    OwnedByOther,
}

fn log_status_error(name: &str, outcome: Result<(), ApiError>) {
    match outcome {
        Err(error) if !error.is_conflict() && !error.is_not_found() => {
            tracing::warn!("cannot update the status of FunctionConfig {name}: {error}");
        }
        _ => (),
    }
}

fn retry_deadline() -> Instant {
    Instant::now() + RETRY_TIMEOUT
}
