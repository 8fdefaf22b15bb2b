//! The HTTP client: TLS with a custom CA or the system's, proxies, redirects without credentials, limited bodies, timeouts and
//! retries.
//!
//! Deliberately absent: the meaning of status codes, which `registry` knows.

pub(crate) mod connector;
pub(crate) mod dial;
mod request;
pub(crate) mod retry;
pub(crate) mod tls_roots;
mod tunnel;
pub(crate) mod url;

use std::io;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Response, StatusCode, Uri, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::error::RegistryError;
use crate::http::connector::{ConnectError, Connector};
use crate::http::url::{UrlOrigin, resolve_location};
pub(crate) use request::{FullResponse, HttpRequest, read_body, read_chunk};

/// How long the head of a response may take.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);
/// The same after a large request body.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(600);
const MAX_REDIRECTS: usize = 5;

pub(crate) struct HttpClient {
    client: Client<Connector, Full<Bytes>>,
}

/// A response, and whether it came from the origin of the request, without a redirect to another one.
pub(crate) struct HttpResponse {
    pub(crate) response: Response<Incoming>,
    pub(crate) from_origin: bool,
}

/// Why a request failed.
pub(crate) enum SendError {
    /// The server does not support TLS ([`RegistryError::Tls`]), or may not: it refuses connections on the TLS port, or closes
    /// them without a response ([`RegistryError::Unreachable`]).
    NotTls(RegistryError),
    Other(RegistryError),
}

impl SendError {
    pub(crate) fn into_inner(self) -> RegistryError {
        match self {
            SendError::NotTls(error) | SendError::Other(error) => error,
        }
    }
}

impl From<RegistryError> for SendError {
    fn from(error: RegistryError) -> SendError {
        SendError::Other(error)
    }
}

impl HttpClient {
    pub(crate) fn new(connector: Connector) -> HttpClient {
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(30))
            .pool_max_idle_per_host(4)
            .build(connector);
        HttpClient { client }
    }

    /// Sends a request and follows redirects. `authorization` is sent only to the origin of the request.
    pub(crate) async fn send(
        &self,
        request: &HttpRequest,
        authorization: Option<&HeaderValue>,
        may_be_plain: &(dyn Fn(&UrlOrigin) -> bool + Sync),
    ) -> Result<HttpResponse, SendError> {
        let origin = UrlOrigin::of(&request.url);
        let mut url = request.url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let current = UrlOrigin::of(&url);
            if !current.is_secure() && !may_be_plain(&current) {
                return Err(SendError::Other(RegistryError::PlainHttpRefused {
                    content: "requests",
                    host: current.to_string(),
                }));
            }
            let from_origin = current == origin;
            let header = authorization.filter(|_| from_origin);
            let response = self.send_once(request, &url, header).await?;
            if !is_redirect(response.status()) {
                return Ok(HttpResponse {
                    response,
                    from_origin,
                });
            }
            url = redirect_target(request, &url, &response)?;
        }
        Err(SendError::Other(RegistryError::Redirect {
            url: url::without_query(&request.url),
            problem: "too many times",
        }))
    }

    async fn send_once(
        &self,
        request: &HttpRequest,
        url: &Uri,
        authorization: Option<&HeaderValue>,
    ) -> Result<Response<Incoming>, SendError> {
        let timeout = match request.body.len() {
            0..0x10_0000 => RESPONSE_TIMEOUT,
            _ => UPLOAD_TIMEOUT,
        };
        let request = request.to_http(url, authorization);
        let unreachable = |source| RegistryError::Unreachable {
            url: url::without_query(url),
            source,
        };
        match tokio::time::timeout(timeout, self.client.request(request)).await {
            Err(_) => {
                let message = format!("no response within {} seconds", timeout.as_secs());
                let timed_out = io::Error::new(io::ErrorKind::TimedOut, message);
                Err(SendError::Other(unreachable(timed_out)))
            }
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(send_error(error, url)),
        }
    }
}

/// Where a redirect leads. Never from TLS to plain HTTP, and never with a body.
fn redirect_target(
    request: &HttpRequest,
    url: &Uri,
    response: &Response<Incoming>,
) -> Result<Uri, RegistryError> {
    let refused = |problem| RegistryError::Redirect {
        url: url::without_query(url),
        problem,
    };
    if request.method != Method::GET && request.method != Method::HEAD {
        return Err(refused("an upload"));
    }
    let location = response.headers().get(header::LOCATION);
    let next = location.and_then(|location| resolve_location(url, location.to_str().ok()?));
    let next = next.ok_or_else(|| refused("to an invalid URL"))?;
    if UrlOrigin::of(url).is_secure() && !UrlOrigin::of(&next).is_secure() {
        return Err(refused("to plain HTTP"));
    }
    Ok(next)
}

/// Finds the connector's error inside hyper's.
fn send_error(error: hyper_util::client::legacy::Error, url: &Uri) -> SendError {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(inner) = source {
        if let Some(connect) = inner.downcast_ref::<ConnectError>() {
            return connect.to_send_error(url);
        }
        source = inner.source();
    }
    SendError::Other(RegistryError::Unreachable {
        url: url::without_query(url),
        source: io::Error::other(error),
    })
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}
