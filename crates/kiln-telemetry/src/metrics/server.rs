//! The HTTP server for Prometheus.
//!
//! It serves one page, one response per connection, with limits for everything that a client controls.

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

/// The longest time of a connection.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);

/// The largest number of connections; further ones wait.
const MAX_CONNECTIONS: usize = 16;

/// The largest head of a request.
const MAX_HEAD: usize = 16 * 1024;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Serves metrics until it is dropped.
pub(crate) struct MetricsServer {
    address: SocketAddr,
    serving: AbortHandle,
}

impl MetricsServer {
    /// Binds the port, and serves in the current runtime.
    pub(crate) fn bind(host: &str, port: u16, metrics: Arc<Metrics>) -> io::Result<MetricsServer> {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let listener = TcpListener::bind((host, port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let serving = tokio::spawn(serve(listener, metrics)).abort_handle();
        Ok(MetricsServer { address, serving })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(listener: tokio::net::TcpListener, metrics: Arc<Metrics>) {
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        // The semaphore is never closed.
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else {
            return;
        };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::debug!(%error, "cannot accept a connection for metrics");
                // Usually there are no free file descriptors; wait until connections end.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let metrics = Arc::clone(&metrics);
        tokio::spawn(async move {
            let _permit = permit;
            let service = service_fn(move |request| {
                let response = respond(&request, &metrics);
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

fn respond(request: &Request<Incoming>, metrics: &Metrics) -> Response<Full<Bytes>> {
    let text = |status: StatusCode, text: String, content_type: &'static str| {
        let mut response = Response::new(Full::new(Bytes::from(text)));
        *response.status_mut() = status;
        let content_type = HeaderValue::from_static(content_type);
        response.headers_mut().insert(CONTENT_TYPE, content_type);
        response
    };
    let plain = "text/plain; charset=utf-8";
    if request.uri().path() != "/metrics" {
        let message = "metrics are at /metrics\n".to_owned();
        return text(StatusCode::NOT_FOUND, message, plain);
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let message = "metrics are read-only\n".to_owned();
        let mut response = text(StatusCode::METHOD_NOT_ALLOWED, message, plain);
        let allowed = HeaderValue::from_static("GET, HEAD");
        response.headers_mut().insert(ALLOW, allowed);
        return response;
    }
    text(StatusCode::OK, metrics.render(), OPEN_METRICS)
}
