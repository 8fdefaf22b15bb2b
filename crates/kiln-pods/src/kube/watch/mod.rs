//! Watches all objects of a kind: first a list, then changes.
//!
//! A broken watch is reported at once, and everything is listed again before updates continue. The receiver therefore
//! never takes an outdated view for a fresh one, and misses no deletion.

use std::time::Duration;

use futures_util::StreamExt as _;
use kube::core::WatchEvent;
use serde::de::DeserializeOwned;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch::Receiver;
use tokio::time::Instant;

use crate::kube::api::{Api, ApiError, Backoff, ObjectSelector, ResourceCollection};

/// What a watch reports.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum WatchUpdate<T> {
    /// All objects; those that are not included are gone.
    Listed(Vec<T>),
    /// An object is new or has changed.
    Changed(T),
    Deleted(T),
    /// The watch is broken for the time being.
    Interrupted(ApiError),
    /// The kind does not exist, or access is forbidden. Holds until the next update.
    Unavailable(ApiError),
}

/// An object that can be watched.
pub(crate) trait WatchedObject {
    fn version(&self) -> &str;
}

/// A watch on a collection of objects.
#[derive(Clone)]
pub(crate) struct ObjectWatch {
    pub(crate) api: Api,
    pub(crate) collection: ResourceCollection,
    pub(crate) selector: ObjectSelector,
    /// Changes to make the watch start again: a dead connection looks like one without events.
    pub(crate) restart: Receiver<()>,
}

/// How often a missing kind is looked up again.
const UNAVAILABLE_RETRY: Duration = Duration::from_secs(30);

/// A watch that ends sooner counts as broken.
const MIN_WATCH_DURATION: Duration = Duration::from_secs(1);

impl ObjectWatch {
    /// Runs until the receiver is closed.
    pub(crate) async fn run<T, M>(
        self,
        to: UnboundedSender<M>,
        message: impl Fn(WatchUpdate<T>) -> M,
    ) where
        T: WatchedObject + DeserializeOwned + Clone + Send + 'static,
        M: Send + 'static,
    {
        let mut restart = self.restart.clone();
        let mut backoff = Backoff::default();
        while !to.is_closed() {
            let send = |update| to.send(message(update)).is_ok();
            let error = tokio::select! {
                error = self.list_and_watch(&send, &mut backoff) => error,
                Ok(()) = restart.changed() => ApiError::watch_ended(),
            };
            if error.is_expired() {
                continue;
            }
            let is_unavailable = error.is_not_found() || error.is_forbidden();
            let wait = backoff.next().max(error.retry_after.unwrap_or_default());
            let wait = if is_unavailable {
                UNAVAILABLE_RETRY
            } else {
                wait
            };
            match self.get_without_watch(&error).await {
                Some(items) => send(WatchUpdate::Listed(items)),
                None if is_unavailable => send(WatchUpdate::Unavailable(error)),
                None => send(WatchUpdate::Interrupted(error)),
            };
            tokio::select! {
                () = tokio::time::sleep(wait) => (),
                () = to.closed() => return,
            }
        }
    }

    /// Gets the selected object if listing is forbidden: Porch grants its runner no more than `get`.
    async fn get_without_watch<T: DeserializeOwned>(&self, error: &ApiError) -> Option<Vec<T>> {
        let name = self
            .selector
            .name
            .as_deref()
            .filter(|_| error.is_forbidden())?;
        match self.api.get(&self.collection, name).await {
            Ok(object) => Some(vec![object]),
            Err(error) if error.is_not_found() => Some(Vec::new()),
            Err(_) => None,
        }
    }

    /// Lists and then watches until an error occurs.
    async fn list_and_watch<T>(
        &self,
        send: &impl Fn(WatchUpdate<T>) -> bool,
        backoff: &mut Backoff,
    ) -> ApiError
    where
        T: WatchedObject + DeserializeOwned + Clone + Send + 'static,
    {
        let listed = self.api.list::<T>(&self.collection, &self.selector).await;
        let (items, mut version) = match listed {
            Ok(listed) => listed,
            Err(error) => return error,
        };
        if !send(WatchUpdate::Listed(items)) {
            return ApiError::timed_out();
        }
        loop {
            let events = self
                .api
                .watch::<T>(&self.collection, &self.selector, &version);
            let mut events = match events.await {
                Ok(events) => Box::pin(events),
                Err(error) => return error,
            };
            backoff.reset();
            let began = Instant::now();
            while let Some(event) = events.next().await {
                let update = match event {
                    Ok(WatchEvent::Added(object) | WatchEvent::Modified(object)) => {
                        object.version().clone_into(&mut version);
                        WatchUpdate::Changed(object)
                    }
                    Ok(WatchEvent::Deleted(object)) => {
                        object.version().clone_into(&mut version);
                        WatchUpdate::Deleted(object)
                    }
                    Ok(WatchEvent::Bookmark(bookmark)) => {
                        version = bookmark.metadata.resource_version;
                        continue;
                    }
                    Ok(WatchEvent::Error(status)) => return kube::Error::Api(status).into(),
                    Err(error) => return error,
                };
                if !send(update) {
                    return ApiError::timed_out();
                }
            }
            if began.elapsed() < MIN_WATCH_DURATION {
                return ApiError::watch_ended();
            }
        }
    }
}

#[cfg(test)]
mod tests;
