//! The secret that pods pull their images with, kept equal to a file.
//!
//! Replicas share it. The last one that ends deletes it if a replica has made it, and no pod is left that needs it: pods are
//! left to whoever comes next.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use tokio::sync::Mutex;

use crate::api::{Api, ApiError, Collection, Selector, StillIs};
use crate::keys::{FIELD_MANAGER, MADE_BY_LABEL};
use crate::objects;
use crate::views::{PullingPod, SecretView};

/// The key of a Docker config file in a secret.
const KEY: &str = ".dockerconfigjson";

/// A secret and the file that it is a copy of.
pub(crate) struct PullSecretCopy {
    path: PathBuf,
    name: String,
    namespace: String,
    secrets: Collection,
    /// What was last seen to be in the secret. Of those who look at the same time one does.
    copied: Mutex<Option<String>>,
}

/// Why a secret is not a copy.
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

impl PullSecretCopy {
    pub(crate) fn new(path: PathBuf, name: String, namespace: &str) -> PullSecretCopy {
        PullSecretCopy {
            path,
            name,
            namespace: namespace.to_owned(),
            secrets: Collection::secrets(namespace),
            copied: Mutex::new(None),
        }
    }

    /// Makes sure before a pod is made that needs it. Asks nobody if the file is as it was.
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

    /// Looks whether the secret is still there and as it should be, if it was ever needed.
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
                    Err(error) if error.is_already_there() => {
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

    /// Deletes it, if a replica has made it and no pod names it.
    pub(crate) async fn remove(&self, api: &Api, pods: &Collection) -> Result<(), ApiError> {
        let secret = match api.get::<SecretView>(&self.secrets, &self.name).await {
            Err(error) if error.is_not_found() => return Ok(()),
            found => found?,
        };
        if secret.metadata.label(MADE_BY_LABEL) != Some(FIELD_MANAGER) {
            return Ok(());
        }
        let (pods, _) = api.list::<PullingPod>(pods, &Selector::default()).await?;
        let names = |pod: &PullingPod| {
            let mut secrets = pod.spec.image_pull_secrets.iter();
            secrets.any(|secret| secret.name == self.name)
        };
        if pods.iter().any(names) {
            return Ok(());
        }
        let still_is = StillIs {
            uid: Some(secret.metadata.uid),
            resource_version: Some(secret.metadata.resource_version),
        };
        match api.delete(&self.secrets, &self.name, still_is).await {
            // Somebody else was faster, or needs it again.
            Err(error) if error.is_not_found() || error.is_conflict() => Ok(()),
            deleted => deleted,
        }
    }

    /// The file in the form of secrets.
    async fn read(&self) -> Result<String, PullSecretError> {
        let path = self.path.clone();
        let read = tokio::task::spawn_blocking(move || std::fs::read(path)).await;
        let read = read.unwrap_or_else(|error| Err(std::io::Error::other(error)));
        let bytes = read.map_err(|source| PullSecretError::Read {
            path: self.path.clone(),
            source,
        })?;
        // Kubernetes refuses anything else, in words that do not say which file is meant.
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
