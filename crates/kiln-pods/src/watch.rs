//! Watching all objects of a kind: first what there is, then what changes.
//!
//! When a watch breaks, that is said at once, and everything is listed anew before it is said that the knowledge is fresh
//! again. So whoever listens never takes old knowledge for new, and misses no deletion.

use std::time::Duration;

use futures_util::StreamExt as _;
use kube::core::WatchEvent;
use serde::de::DeserializeOwned;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch::Receiver;
use tokio::time::Instant;

use crate::api::{Api, ApiError, Backoff, Collection, Selector};

/// What was seen.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Seen<T> {
    /// All there is now; what is known besides is gone.
    All(Vec<T>),
    /// An object is new or different.
    Is(T),
    /// An object is gone.
    Gone(T),
    /// Nothing more is seen for the time being.
    Blind(ApiError),
    /// There is no such kind here, or we may not look: that is so until something else is seen.
    Absent(ApiError),
}

/// An object that can be watched.
pub(crate) trait View {
    /// Its version.
    fn version(&self) -> &str;
}

/// What is watched.
#[derive(Clone)]
pub(crate) struct Watch {
    pub(crate) api: Api,
    pub(crate) collection: Collection,
    pub(crate) selector: Selector,
    /// Changes when it has to begin anew: a connection that nothing comes by looks like one on which nothing happens.
    pub(crate) anew: Receiver<()>,
}

/// A kind that is missing is looked for again so often.
const ABSENT_WAIT: Duration = Duration::from_secs(30);

/// A watch that ends sooner has been cut off.
const SHORTEST: Duration = Duration::from_secs(1);

impl Watch {
    /// Watches until nobody listens.
    pub(crate) async fn run<T, M>(self, to: UnboundedSender<M>, message: impl Fn(Seen<T>) -> M)
    where
        T: View + DeserializeOwned + Clone + Send + 'static,
        M: Send + 'static,
    {
        let mut anew = self.anew.clone();
        let mut backoff = Backoff::default();
        while !to.is_closed() {
            let tell = |seen| to.send(message(seen)).is_ok();
            let error = tokio::select! {
                error = self.once(&tell, &mut backoff) => error,
                Ok(()) = anew.changed() => ApiError::cut_off(),
            };
            if error.is_expired() {
                continue;
            }
            let is_absent = error.is_not_found() || error.is_forbidden();
            let wait = backoff.next().max(error.retry_after.unwrap_or_default());
            let wait = if is_absent { ABSENT_WAIT } else { wait };
            match self.without_watching(&error).await {
                Some(items) => tell(Seen::All(items)),
                None if is_absent => tell(Seen::Absent(error)),
                None => tell(Seen::Blind(error)),
            };
            tokio::select! {
                () = tokio::time::sleep(wait) => (),
                () = to.closed() => return,
            }
        }
    }

    /// The one object that is meant, for those who may get it and no more: Porch grants its runner nothing else.
    async fn without_watching<T: DeserializeOwned>(&self, error: &ApiError) -> Option<Vec<T>> {
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

    /// Lists, then watches as long as it goes well.
    async fn once<T>(&self, tell: &impl Fn(Seen<T>) -> bool, backoff: &mut Backoff) -> ApiError
    where
        T: View + DeserializeOwned + Clone + Send + 'static,
    {
        let listed = self.api.list::<T>(&self.collection, &self.selector).await;
        let (items, mut version) = match listed {
            Ok(listed) => listed,
            Err(error) => return error,
        };
        if !tell(Seen::All(items)) {
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
                let seen = match event {
                    Ok(WatchEvent::Added(object) | WatchEvent::Modified(object)) => {
                        object.version().clone_into(&mut version);
                        Seen::Is(object)
                    }
                    Ok(WatchEvent::Deleted(object)) => {
                        object.version().clone_into(&mut version);
                        Seen::Gone(object)
                    }
                    Ok(WatchEvent::Bookmark(bookmark)) => {
                        version = bookmark.metadata.resource_version;
                        continue;
                    }
                    Ok(WatchEvent::Error(status)) => return kube::Error::Api(status).into(),
                    Err(error) => return error,
                };
                if !tell(seen) {
                    return ApiError::timed_out();
                }
            }
            if began.elapsed() < SHORTEST {
                return ApiError::cut_off();
            }
        }
    }
}

#[cfg(test)]
mod tests;
