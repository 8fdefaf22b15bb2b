//! The HTTP server for Prometheus, which serves one page.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use http::header::{ALLOW, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode};

use super::Metrics;
use crate::page_server::PageServer;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Serves metrics until it is dropped.
pub(crate) struct MetricsServer {
    pages: PageServer,
}

impl MetricsServer {
    /// Binds the port, and serves in the current runtime.
    pub(crate) fn bind(host: &str, port: u16, metrics: Arc<Metrics>) -> io::Result<MetricsServer> {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let listener = TcpListener::bind((host, port))?;
        let handler = move |request: Parts| -> crate::page_server::PageFuture {
            let response = respond(&request, &metrics);
            Box::pin(std::future::ready(response))
        };
        let pages = PageServer::start(listener, "metrics", Arc::new(handler))?;
        Ok(MetricsServer { pages })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.pages.address()
    }
}

fn respond(request: &Parts, metrics: &Metrics) -> Response<String> {
    let text = |status: StatusCode, text: String, content_type: &'static str| {
        let mut response = Response::new(text);
        *response.status_mut() = status;
        let content_type = HeaderValue::from_static(content_type);
        response.headers_mut().insert(CONTENT_TYPE, content_type);
        response
    };
    let plain = "text/plain; charset=utf-8";
    if request.uri.path() != "/metrics" {
        let message = "metrics are at /metrics\n".to_owned();
        return text(StatusCode::NOT_FOUND, message, plain);
    }
    if !matches!(request.method, Method::GET | Method::HEAD) {
        let message = "metrics are read-only\n".to_owned();
        let mut response = text(StatusCode::METHOD_NOT_ALLOWED, message, plain);
        let allowed = HeaderValue::from_static("GET, HEAD");
        response.headers_mut().insert(ALLOW, allowed);
        return response;
    }
    text(StatusCode::OK, metrics.render(), OPEN_METRICS)
}
