//! The secret that pods pull their images with: a copy of a file.
//!
//! Replicas share it. The last replica to shut down deletes it if a replica has created it and no pod needs it.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use tokio::sync::Mutex;

use crate::kube::api::{Api, ApiError, DeletePreconditions, ObjectSelector, ResourceCollection};
use crate::kube::names::{FIELD_MANAGER, MANAGED_BY_LABEL};
use crate::kube::objects;
use crate::kube::views::{PodPullSecrets, SecretView};

/// The key of a Docker config file in a secret.
const KEY: &str = ".dockerconfigjson";

/// Keeps a secret equal to a file.
pub(crate) struct PullSecretSync {
    path: PathBuf,
    name: String,
    namespace: String,
    secrets: ResourceCollection,
    /// The last known content of the secret. The lock also prevents concurrent updates.
    copied: Mutex<Option<String>>,
}

/// Why the secret was not updated.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PullSecretError {
    #[error("cannot read {}: {source}", path.display())]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{} is not a Docker config file in JSON", path.display())]
    NotJson { path: PathBuf },
    #[error(transparent)]
    Api(#[from] ApiError),
}

impl PullSecretSync {
    pub(crate) fn new(path: PathBuf, name: String, namespace: &str) -> PullSecretSync {
        PullSecretSync {
            path,
            name,
            namespace: namespace.to_owned(),
            secrets: ResourceCollection::secrets(namespace),
            copied: Mutex::new(None),
        }
    }

    /// Updates the secret before a pod is created. Sends no request if the file has not changed.
    pub(crate) async fn ensure(&self, api: &Api) -> Result<(), PullSecretError> {
        let content = self.read().await?;
        let mut copied = self.copied.lock().await;
        if copied.as_ref() == Some(&content) {
            return Ok(());
        }
        self.copy(api, &content).await?;
        *copied = Some(content);
        Ok(())
    }

    /// Restores the secret if it was deleted or changed, provided it was ever needed.
    pub(crate) async fn check(&self, api: &Api) -> Result<(), PullSecretError> {
        let mut copied = self.copied.lock().await;
        if copied.is_none() {
            return Ok(());
        }
        let content = self.read().await?;
        self.copy(api, &content).await?;
        *copied = Some(content);
        Ok(())
    }

    async fn copy(&self, api: &Api, content: &str) -> Result<(), PullSecretError> {
        let secret = match api.get::<SecretView>(&self.secrets, &self.name).await {
            Err(error) if error.is_not_found() => {
                let secret = objects::pull_secret(&self.namespace, &self.name, content);
                match api.create::<SecretView>(&self.secrets, &secret).await {
                    Err(error) if error.is_already_exists() => {
                        api.get(&self.secrets, &self.name).await?
                    }
                    created => created?,
                }
            }
            found => found?,
        };
        if secret.data.get(KEY).map(String::as_str) != Some(content) {
            let change = json!({"data": {KEY: content}});
            api.patch::<serde::de::IgnoredAny>(&self.secrets, &self.name, &change)
                .await?;
        }
        Ok(())
    }

    /// Deletes the secret if a replica has created it and no pod refers to it.
    pub(crate) async fn remove(
        &self,
        api: &Api,
        pods: &ResourceCollection,
    ) -> Result<(), ApiError> {
        let secret = match api.get::<SecretView>(&self.secrets, &self.name).await {
            Err(error) if error.is_not_found() => return Ok(()),
            found => found?,
        };
        if secret.metadata.label(MANAGED_BY_LABEL) != Some(FIELD_MANAGER) {
            return Ok(());
        }
        let (pods, _) = api
            .list::<PodPullSecrets>(pods, &ObjectSelector::default())
            .await?;
        let names = |pod: &PodPullSecrets| {
            let mut secrets = pod.spec.image_pull_secrets.iter();
            secrets.any(|secret| secret.name == self.name)
        };
        if pods.iter().any(names) {
            return Ok(());
        }
        let preconditions = DeletePreconditions {
            uid: Some(secret.metadata.uid),
            resource_version: Some(secret.metadata.resource_version),
        };
        match api.delete(&self.secrets, &self.name, preconditions).await {
            // Another replica has deleted it or uses it again.
            Err(error) if error.is_not_found() || error.is_conflict() => Ok(()),
            deleted => deleted,
        }
    }

    /// The base64 content of the file.
    async fn read(&self) -> Result<String, PullSecretError> {
        let path = self.path.clone();
        let read = tokio::task::spawn_blocking(move || std::fs::read(path)).await;
        let read = read.unwrap_or_else(|error| Err(std::io::Error::other(error)));
        let bytes = read.map_err(|source| PullSecretError::Read {
            path: self.path.clone(),
            source,
        })?;
        // Kubernetes would reject anything else without naming the file.
        if serde_json::from_slice::<serde::de::IgnoredAny>(&bytes).is_err() {
            return Err(PullSecretError::NotJson {
                path: self.path.clone(),
            });
        }
        Ok(STANDARD.encode(bytes))
    }
}

#[cfg(test)]
mod tests;
