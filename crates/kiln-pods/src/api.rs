//! Talking to the API server: requests as values, answers as views, errors as what can be done about them.
//!
//! Each request has a time limit of its own. Repeating is the caller's decision ([`retry`]); nothing is repeated here. Only
//! so many requests are under way at a time, because each has a connection of its own, whose memory is not given back.

mod error;
mod retry;

use std::sync::Arc;
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

use crate::function_config::GROUP;
use crate::keys::FIELD_MANAGER;
pub(crate) use error::ApiError;
pub(crate) use retry::{Backoff, retry, retry_and_tell};

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How many requests are under way at a time, watches and their lists not counted.
const AT_ONCE: usize = 8;

/// How long a watch lasts before it is begun anew, in seconds.
const WATCH_SECONDS: u32 = 240;

/// The API server.
#[derive(Clone)]
pub(crate) struct Api {
    client: kube::Client,
    turns: Arc<Semaphore>,
}

/// All objects of a kind in a namespace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Collection {
    path: String,
}

/// Which objects of a collection are meant.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Selector {
    /// By label, as Kubernetes writes it.
    pub(crate) labels: Option<String>,
    /// The one of a name.
    pub(crate) name: Option<String>,
}

/// What must still be so when an object is deleted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct StillIs {
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
}

impl Collection {
    pub(crate) fn pods(namespace: &str) -> Collection {
        Collection::new("api/v1", namespace, "pods")
    }

    pub(crate) fn services(namespace: &str) -> Collection {
        Collection::new("api/v1", namespace, "services")
    }

    pub(crate) fn secrets(namespace: &str) -> Collection {
        Collection::new("api/v1", namespace, "secrets")
    }

    pub(crate) fn config_maps(namespace: &str) -> Collection {
        Collection::new("api/v1", namespace, "configmaps")
    }

    pub(crate) fn pod_templates(namespace: &str) -> Collection {
        Collection::new("api/v1", namespace, "podtemplates")
    }

    pub(crate) fn endpoint_slices(namespace: &str) -> Collection {
        Collection::new("apis/discovery.k8s.io/v1", namespace, "endpointslices")
    }

    pub(crate) fn leases(namespace: &str) -> Collection {
        Collection::new("apis/coordination.k8s.io/v1", namespace, "leases")
    }

    pub(crate) fn function_configs(namespace: &str) -> Collection {
        Collection::new(
            &format!("apis/{GROUP}/v1alpha1"),
            namespace,
            "functionconfigs",
        )
    }

    pub(crate) fn service_templates(namespace: &str) -> Collection {
        Collection::new(
            &format!("apis/{GROUP}/v1alpha1"),
            namespace,
            "servicetemplates",
        )
    }

    fn new(group: &str, namespace: &str, plural: &str) -> Collection {
        Collection {
            path: format!("/{group}/namespaces/{namespace}/{plural}"),
        }
    }

    fn request(&self) -> ApiRequest {
        ApiRequest::new(self.path.clone())
    }
}

impl Selector {
    pub(crate) fn labels(selector: impl Into<String>) -> Selector {
        Selector {
            labels: Some(selector.into()),
            name: None,
        }
    }

    /// The one object of a name.
    pub(crate) fn name(name: &str) -> Selector {
        Selector {
            labels: None,
            name: Some(name.to_owned()),
        }
    }
}

impl Selector {
    fn fields(&self) -> Option<String> {
        let name = self.name.as_ref()?;
        Some(format!("metadata.name={name}"))
    }
}

impl Api {
    pub(crate) fn new(client: kube::Client) -> Api {
        let turns = Arc::new(Semaphore::new(AT_ONCE));
        Api { client, turns }
    }

    /// The same API server for somebody who does not wait for what else is asked of it.
    pub(crate) fn apart(&self) -> Api {
        Api::new(self.client.clone())
    }

    /// All objects, and the version of the list.
    pub(crate) async fn list<T: DeserializeOwned>(
        &self,
        collection: &Collection,
        selector: &Selector,
    ) -> Result<(Vec<T>, String), ApiError> {
        let params = ListParams {
            label_selector: selector.labels.clone(),
            field_selector: selector.fields(),
            ..ListParams::default()
        };
        let list: List<T> = self.ask_now(collection.request().list(&params)?).await?;
        Ok((
            list.items.unwrap_or_default(),
            list.metadata.resource_version,
        ))
    }

    /// What happens after a version.
    pub(crate) async fn watch<T: DeserializeOwned + Clone + Send + 'static>(
        &self,
        collection: &Collection,
        selector: &Selector,
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
        let events = limited(self.client.request_events::<T>(request)).await?;
        Ok(events.map(|event| event.map_err(ApiError::from)))
    }

    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        collection: &Collection,
        name: &str,
    ) -> Result<T, ApiError> {
        self.ask(collection.request().get(name, &Default::default())?)
            .await
    }

    pub(crate) async fn create<T: DeserializeOwned>(
        &self,
        collection: &Collection,
        object: &Value,
    ) -> Result<T, ApiError> {
        let params = PostParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PostParams::default()
        };
        let body = object.to_string().into_bytes();
        self.ask(collection.request().create(&params, body)?).await
    }

    /// Asks for an object to be deleted; it may take its time to go.
    pub(crate) async fn delete(
        &self,
        collection: &Collection,
        name: &str,
        still_is: StillIs,
    ) -> Result<(), ApiError> {
        let mut params = DeleteParams::background();
        if still_is != StillIs::default() {
            params.preconditions = Some(Preconditions {
                uid: still_is.uid,
                resource_version: still_is.resource_version,
            });
        }
        let request = collection.request().delete(name, &params)?;
        self.ask::<serde::de::IgnoredAny>(request).await.map(drop)
    }

    /// Merges a change into an object.
    pub(crate) async fn patch<T: DeserializeOwned>(
        &self,
        collection: &Collection,
        name: &str,
        change: &Value,
    ) -> Result<T, ApiError> {
        let request =
            collection
                .request()
                .patch(name, &PatchParams::default(), &Patch::Merge(change))?;
        self.ask(request).await
    }

    /// Merges a change into an object's status.
    pub(crate) async fn patch_status(
        &self,
        collection: &Collection,
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
        self.ask::<serde::de::IgnoredAny>(request).await.map(drop)
    }

    async fn ask<T: DeserializeOwned>(&self, request: Request<Vec<u8>>) -> Result<T, ApiError> {
        // Nobody closes it; if somebody did, all could ask at once.
        let _turn = self.turns.acquire().await;
        self.ask_now(request).await
    }

    async fn ask_now<T: DeserializeOwned>(&self, request: Request<Vec<u8>>) -> Result<T, ApiError> {
        let text = limited(self.client.request_text(request)).await?;
        serde_json::from_str(&text).map_err(|error| ApiError::unreadable(&error))
    }
}

#[derive(Deserialize)]
struct List<T> {
    #[serde(default)]
    metadata: ListMeta,
    items: Option<Vec<T>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct ListMeta {
    resource_version: String,
}

async fn limited<T>(answer: impl Future<Output = Result<T, kube::Error>>) -> Result<T, ApiError> {
    match tokio::time::timeout(TIMEOUT, answer).await {
        Ok(answer) => answer.map_err(ApiError::from),
        Err(_) => Err(ApiError::timed_out()),
    }
}

#[cfg(test)]
mod tests;
