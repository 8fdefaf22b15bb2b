//! The client of the API server: requests are values, responses are views, and errors say what can be done about them.
//!
//! Each request has a time limit. Retries are up to the caller ([`retry`]). The number of concurrent requests is
//! limited, because each one has its own connection, whose memory is not freed.

mod error;
mod retry;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::{Stream, StreamExt as _};
use http::Request;
use kube::core::WatchEvent;
use kube::core::params::{
    DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions, WatchParams,
};
use kube::core::request::Request as ApiRequest;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::config::function_config::GROUP;
use crate::kube::names::FIELD_MANAGER;
pub(crate) use error::ApiError;
pub(crate) use retry::{Backoff, retry, retry_with};

/// Time limit of a response.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum number of concurrent requests, without watches and their lists.
const MAX_CONCURRENT: usize = 8;

/// How long an overloaded API server can make requests wait.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Duration of a watch request in seconds; then it is repeated.
const WATCH_SECONDS: u32 = 240;

/// The API server.
#[derive(Clone)]
pub(crate) struct Api {
    client: kube::Client,
    permits: Arc<Semaphore>,
    /// When the API server, which is overloaded, accepts requests again.
    resumes: Arc<Mutex<Option<Instant>>>,
}

/// All objects of a kind in a namespace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ResourceCollection {
    path: String,
}

/// Selects objects of a collection.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ObjectSelector {
    /// A label selector in Kubernetes' syntax.
    pub(crate) labels: Option<String>,
    pub(crate) name: Option<String>,
}

/// What must hold for an object to be deleted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct DeletePreconditions {
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
}

impl ResourceCollection {
    pub(crate) fn pods(namespace: &str) -> ResourceCollection {
        ResourceCollection::new("api/v1", namespace, "pods")
    }

    pub(crate) fn services(namespace: &str) -> ResourceCollection {
        ResourceCollection::new("api/v1", namespace, "services")
    }

    pub(crate) fn secrets(namespace: &str) -> ResourceCollection {
        ResourceCollection::new("api/v1", namespace, "secrets")
    }

    pub(crate) fn config_maps(namespace: &str) -> ResourceCollection {
        ResourceCollection::new("api/v1", namespace, "configmaps")
    }

    pub(crate) fn pod_templates(namespace: &str) -> ResourceCollection {
        ResourceCollection::new("api/v1", namespace, "podtemplates")
    }

    pub(crate) fn endpoint_slices(namespace: &str) -> ResourceCollection {
        ResourceCollection::new("apis/discovery.k8s.io/v1", namespace, "endpointslices")
    }

    pub(crate) fn leases(namespace: &str) -> ResourceCollection {
        ResourceCollection::new("apis/coordination.k8s.io/v1", namespace, "leases")
    }

    pub(crate) fn function_configs(namespace: &str) -> ResourceCollection {
        ResourceCollection::new(
            &format!("apis/{GROUP}/v1alpha1"),
            namespace,
            "functionconfigs",
        )
    }

    pub(crate) fn service_templates(namespace: &str) -> ResourceCollection {
        ResourceCollection::new(
            &format!("apis/{GROUP}/v1alpha1"),
            namespace,
            "servicetemplates",
        )
    }

    fn new(group: &str, namespace: &str, plural: &str) -> ResourceCollection {
        ResourceCollection {
            path: format!("/{group}/namespaces/{namespace}/{plural}"),
        }
    }

    fn request(&self) -> ApiRequest {
        ApiRequest::new(self.path.clone())
    }
}

impl ObjectSelector {
    pub(crate) fn labels(selector: impl Into<String>) -> ObjectSelector {
        ObjectSelector {
            labels: Some(selector.into()),
            name: None,
        }
    }

    pub(crate) fn name(name: &str) -> ObjectSelector {
        ObjectSelector {
            labels: None,
            name: Some(name.to_owned()),
        }
    }
}

impl ObjectSelector {
    fn fields(&self) -> Option<String> {
        let name = self.name.as_ref()?;
        Some(format!("metadata.name={name}"))
    }
}

impl Api {
    pub(crate) fn new(client: kube::Client) -> Api {
        Api {
            client,
            permits: Arc::new(Semaphore::new(MAX_CONCURRENT)),
            resumes: Arc::default(),
        }
    }

    /// A client with its own limit of concurrent requests.
    pub(crate) fn with_own_limit(&self) -> Api {
        Api::new(self.client.clone())
    }

    /// Lists objects; also returns the resource version of the list.
    pub(crate) async fn list<T: DeserializeOwned>(
        &self,
        collection: &ResourceCollection,
        selector: &ObjectSelector,
    ) -> Result<(Vec<T>, String), ApiError> {
        let params = ListParams {
            label_selector: selector.labels.clone(),
            field_selector: selector.fields(),
            ..ListParams::default()
        };
        let list: ApiList<T> = self
            .send_unlimited(collection.request().list(&params)?)
            .await?;
        Ok((
            list.items.unwrap_or_default(),
            list.metadata.resource_version,
        ))
    }

    /// Watches changes after a resource version.
    pub(crate) async fn watch<T: DeserializeOwned + Clone + Send + 'static>(
        &self,
        collection: &ResourceCollection,
        selector: &ObjectSelector,
        version: &str,
    ) -> Result<impl Stream<Item = Result<WatchEvent<T>, ApiError>> + Send + use<T>, ApiError> {
        let params = WatchParams {
            label_selector: selector.labels.clone(),
            field_selector: selector.fields(),
            timeout: Some(WATCH_SECONDS),
            bookmarks: true,
            ..WatchParams::default()
        };
        let request = collection.request().watch(&params, version)?;
        let events = with_timeout(self.client.request_events::<T>(request)).await?;
        Ok(events.map(|event| event.map_err(ApiError::from)))
    }

    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        collection: &ResourceCollection,
        name: &str,
    ) -> Result<T, ApiError> {
        self.send(collection.request().get(name, &Default::default())?)
            .await
    }

    pub(crate) async fn create<T: DeserializeOwned>(
        &self,
        collection: &ResourceCollection,
        object: &Value,
    ) -> Result<T, ApiError> {
        let params = PostParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PostParams::default()
        };
        let body = object.to_string().into_bytes();
        self.send(collection.request().create(&params, body)?).await
    }

    /// Requests the deletion of an object; it may exist for a while longer.
    pub(crate) async fn delete(
        &self,
        collection: &ResourceCollection,
        name: &str,
        preconditions: DeletePreconditions,
    ) -> Result<(), ApiError> {
        let mut params = DeleteParams::background();
        if preconditions != DeletePreconditions::default() {
            params.preconditions = Some(Preconditions {
                uid: preconditions.uid,
                resource_version: preconditions.resource_version,
            });
        }
        let request = collection.request().delete(name, &params)?;
        self.send::<serde::de::IgnoredAny>(request).await.map(drop)
    }

    /// Applies a merge patch to an object.
    pub(crate) async fn patch<T: DeserializeOwned>(
        &self,
        collection: &ResourceCollection,
        name: &str,
        change: &Value,
    ) -> Result<T, ApiError> {
        let request =
            collection
                .request()
                .patch(name, &PatchParams::default(), &Patch::Merge(change))?;
        self.send(request).await
    }

    /// Applies a merge patch to the status of an object.
    pub(crate) async fn patch_status(
        &self,
        collection: &ResourceCollection,
        name: &str,
        change: &Value,
    ) -> Result<(), ApiError> {
        let params = PatchParams::default();
        let request = collection.request().patch_subresource(
            "status",
            name,
            &params,
            &Patch::Merge(change),
        )?;
        self.send::<serde::de::IgnoredAny>(request).await.map(drop)
    }

    async fn send<T: DeserializeOwned>(&self, request: Request<Vec<u8>>) -> Result<T, ApiError> {
        // The semaphore is never closed, so this cannot fail.
        let _permit = self.permits.acquire().await;
        let resumes = *self.resumes();
        if let Some(resumes) = resumes {
            tokio::time::sleep_until(resumes).await;
        }
        let sent = self.send_unlimited(request).await;
        if let Err(error) = &sent
            && let Some(wait) = error.retry_after
        {
            // All requests wait, not only this one: otherwise each of many would be refused again and again.
            *self.resumes() = Some(Instant::now() + wait.min(LONGEST_PAUSE));
        }
        sent
    }

    fn resumes(&self) -> MutexGuard<'_, Option<Instant>> {
        self.resumes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn send_unlimited<T: DeserializeOwned>(
        &self,
        request: Request<Vec<u8>>,
    ) -> Result<T, ApiError> {
        let text = with_timeout(self.client.request_text(request)).await?;
        serde_json::from_str(&text).map_err(|error| ApiError::unreadable(&error))
    }
}

#[derive(Deserialize)]
struct ApiList<T> {
    #[serde(default)]
    metadata: ApiListMeta,
    items: Option<Vec<T>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct ApiListMeta {
    resource_version: String,
}

async fn with_timeout<T>(
    answer: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, ApiError> {
    match tokio::time::timeout(TIMEOUT, answer).await {
        Ok(answer) => answer.map_err(ApiError::from),
        Err(_) => Err(ApiError::timed_out()),
    }
}

#[cfg(test)]
mod tests;
