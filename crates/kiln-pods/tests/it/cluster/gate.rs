//! A client of the API server whose requests can be counted and blocked.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures_util::StreamExt as _;
use http::Response;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::Frame;
use kube::Client;
use tokio::sync::watch;

type AnyError = Box<dyn std::error::Error + Send + Sync>;
type AnyBody = UnsyncBoxBody<Bytes, AnyError>;

/// A gate between a replica and the API server.
pub(super) struct Gate {
    pub(super) client: Client,
    passed: Arc<AtomicUsize>,
    is_open: watch::Sender<bool>,
}

impl Gate {
    /// Creates an open gate.
    pub(super) fn new(inner: &Client) -> Gate {
        let (is_open, open) = watch::channel(true);
        let passed = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&passed);
        let inner = inner.clone();
        let service = tower::service_fn(move |request: http::Request<_>| {
            let (inner, open) = (inner.clone(), open.clone());
            counter.fetch_add(1, Ordering::Relaxed);
            async move {
                if !*open.borrow() {
                    return Err(AnyError::from("the gate is closed"));
                }
                let (parts, body) = inner.send(request).await?.into_parts();
                // Closing the gate also ends responses in progress.
                let mut closing = open.clone();
                let closed = Box::pin(async move { drop(closing.wait_for(|open| !open).await) });
                let frames = body.into_data_stream().map(|data| match data {
                    Ok(data) => Ok(Frame::data(data)),
                    Err(error) => Err(AnyError::from(error)),
                });
                let body: AnyBody = StreamBody::new(frames.take_until(closed)).boxed_unsync();
                Ok(Response::from_parts(parts, body))
            }
        });
        Gate {
            client: Client::new(service, "default"),
            passed,
            is_open,
        }
    }

    /// Number of requests so far.
    pub(super) fn count(&self) -> usize {
        self.passed.load(Ordering::Relaxed)
    }

    pub(super) fn close(&self) {
        self.is_open.send_replace(false);
    }

    pub(super) fn open(&self) {
        self.is_open.send_replace(true);
    }
}
