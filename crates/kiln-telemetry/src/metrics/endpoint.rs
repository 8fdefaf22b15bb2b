//! The page that Prometheus asks for, on a port of its own.
//!
//! It is small on purpose: one page, one answer a connection, a limit on everything that a stranger could stretch.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

use super::Metrics;

/// How long a connection lasts at most.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);

/// How many connections there are at most; others wait.
const MAX_CONNECTIONS: usize = 16;

/// How long the head of a request may be.
const MAX_HEAD: usize = 16 * 1024;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Serves metrics until dropped.
pub(crate) struct Endpoint {
    address: SocketAddr,
    serving: AbortHandle,
}

impl Endpoint {
    /// Takes the port, and serves in the runtime around.
    pub(crate) fn bind(host: &str, port: u16, metrics: Arc<Metrics>) -> io::Result<Endpoint> {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let listener = TcpListener::bind((host, port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let serving = tokio::spawn(serve(listener, metrics)).abort_handle();
        Ok(Endpoint { address, serving })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(listener: tokio::net::TcpListener, metrics: Arc<Metrics>) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        // It is never closed.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::debug!(%error, "cannot accept a connection for metrics");
                // Nothing frees descriptors faster than giving others time to.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let metrics = Arc::clone(&metrics);
        tokio::spawn(async move {
            let _place = place;
            let service = service_fn(move |request| {
                let response = answer(&request, &metrics);
                async move { Ok::<_, Infallible>(response) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(CONNECTION_TIMEOUT)
                .keep_alive(false)
                .half_close(true)
                .max_buf_size(MAX_HEAD)
                .serve_connection(TokioIo::new(stream), service);
            match tokio::time::timeout(CONNECTION_TIMEOUT, connection).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::debug!(%error, "bad request for metrics"),
                Err(_) => tracing::debug!("a connection for metrics took too long"),
            }
        });
    }
}

fn answer(request: &Request<Incoming>, metrics: &Metrics) -> Response<Full<Bytes>> {
    let text = |status: StatusCode, text: String, content_type: &'static str| {
        let mut response = Response::new(Full::new(Bytes::from(text)));
        *response.status_mut() = status;
        let content_type = HeaderValue::from_static(content_type);
        response.headers_mut().insert(CONTENT_TYPE, content_type);
        response
    };
    let plain = "text/plain; charset=utf-8";
    if request.uri().path() != "/metrics" {
        let words = "metrics are at /metrics\n".to_owned();
        return text(StatusCode::NOT_FOUND, words, plain);
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let words = "metrics can only be read\n".to_owned();
        let mut response = text(StatusCode::METHOD_NOT_ALLOWED, words, plain);
        let allowed = HeaderValue::from_static("GET, HEAD");
        response.headers_mut().insert(ALLOW, allowed);
        return response;
    }
    text(StatusCode::OK, metrics.render(), OPEN_METRICS)
}
