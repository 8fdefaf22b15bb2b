//! One request to one registry: over TLS or plain HTTP, with or without credentials, with retries.

use std::sync::PoisonError;
use std::time::SystemTime;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Response, StatusCode, Uri};
use hyper::body::Incoming;

use super::repository_endpoint::RepositoryEndpoint;
use super::{PlainHttp, RegistryClient, error_body};
use crate::auth::{Authorization, RepositoryAction, TokenScope};
use crate::error::RegistryError;
use crate::http::retry::{Attempts, retry_after};
use crate::http::url::{UrlOrigin, without_query};
use crate::http::{FullResponse, HttpRequest, HttpResponse, SendError, read_body};

/// The largest error response that is read.
pub(super) const MAX_ERROR_BODY: u64 = 64 << 10;
/// How many hosts without TLS are remembered.
const MAX_PLAIN_HTTP_HOSTS: usize = 1024;

/// A request to a repository.
#[derive(Clone)]
pub(super) struct RegistryRequest {
    pub(super) method: Method,
    pub(super) target: RequestTarget,
    pub(super) action: RepositoryAction,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) body: Bytes,
    /// What is read or written, for messages.
    pub(super) subject: String,
}

/// The URL of a request.
#[derive(Clone)]
pub(super) enum RequestTarget {
    /// A path below the repository.
    Path(String),
    /// A URL that the registry returned.
    Url(Uri),
}

impl RegistryRequest {
    pub(super) fn new(
        method: Method,
        path: String,
        action: RepositoryAction,
        subject: String,
    ) -> RegistryRequest {
        RegistryRequest {
            method,
            target: RequestTarget::Path(path),
            action,
            headers: Vec::new(),
            body: Bytes::new(),
            subject,
        }
    }

    /// The error of a registry that refuses the request.
    pub(super) fn denied(&self, endpoint: &RepositoryEndpoint, message: String) -> RegistryError {
        let verb = match self.method {
            Method::GET | Method::HEAD => "read",
            _ => "write",
        };
        RegistryError::Denied {
            registry: endpoint.registry.clone(),
            action: format!("{verb} {}", self.subject),
            message,
        }
    }
}

impl RegistryClient {
    /// Sends a request, with retries, and reads the whole response. A status other than success is an error.
    pub(super) async fn request(
        &self,
        endpoint: &RepositoryEndpoint,
        request: &RegistryRequest,
        limit: u64,
    ) -> Result<FullResponse, RegistryError> {
        let mut attempts = Attempts::new(&self.state.options.retry);
        loop {
            match self.request_once(endpoint, request, limit).await {
                Ok(response) => return Ok(response),
                Err(error) => attempts.wait_or_fail(error).await?,
            }
        }
    }

    /// [`RegistryClient::request`] without retries.
    pub(super) async fn request_once(
        &self,
        endpoint: &RepositoryEndpoint,
        request: &RegistryRequest,
        limit: u64,
    ) -> Result<FullResponse, RegistryError> {
        let (url, response) = self.send_authenticated(endpoint, request).await?;
        let (parts, body) = response.into_parts();
        let body = read_body(body, &url, limit, &request.subject).await?;
        Ok(FullResponse {
            url,
            headers: parts.headers,
            body,
        })
    }

    /// Sends a request, and once more with credentials if the registry answers 401. The response has a success status.
    pub(super) async fn send_authenticated(
        &self,
        endpoint: &RepositoryEndpoint,
        request: &RegistryRequest,
    ) -> Result<(Uri, Response<Incoming>), RegistryError> {
        let scope = TokenScope {
            registry: endpoint.host.clone(),
            repository: endpoint.repository.clone(),
            action: request.action,
        };
        let mut is_authenticated = false;
        loop {
            let authorization = self.state.authorizations.get(&scope);
            let (url, received) = self.send(endpoint, request, authorization.as_ref()).await?;
            let status = received.response.status();
            if status.is_success() {
                return Ok((url, received.response));
            }
            if status == StatusCode::UNAUTHORIZED && received.from_origin && !is_authenticated {
                self.state.authorizations.remove(&scope);
                self.authenticate(endpoint, request, &url, scope.clone(), received.response)
                    .await?;
                is_authenticated = true;
                continue;
            }
            return Err(status_error(endpoint, request, &url, received).await);
        }
    }

    /// Sends a request over TLS, or over plain HTTP to hosts that do not support TLS and are allowed not to.
    async fn send(
        &self,
        endpoint: &RepositoryEndpoint,
        request: &RegistryRequest,
        authorization: Option<&Authorization>,
    ) -> Result<(Uri, HttpResponse), RegistryError> {
        let may_be_plain = |origin: &UrlOrigin| self.plain_http(origin) > PlainHttp::Never;
        let is_plain_http_host = self.is_plain_http_host(&endpoint.host);
        let mut tls_error = None;
        for secure in [true, false] {
            if secure && is_plain_http_host {
                continue;
            }
            let url = match &request.target {
                RequestTarget::Path(path) => endpoint.url(secure, path),
                RequestTarget::Url(url) => Some(url.clone()),
            };
            let url = url.ok_or_else(|| RegistryError::Protocol {
                url: endpoint.host.clone(),
                problem: "its name does not form a URL",
            })?;
            let mut http_request = HttpRequest::new(request.method.clone(), url.clone());
            http_request.headers.clone_from(&request.headers);
            http_request.body = request.body.clone();
            // A URL that the registry returned may be on another host.
            let is_same_origin = Some(UrlOrigin::of(&url))
                == endpoint.url(secure, "").map(|url| UrlOrigin::of(&url));
            let authorization = authorization.filter(|_| is_same_origin);
            if authorization.is_some_and(|authorization| authorization.is_secret)
                && !UrlOrigin::of(&url).is_secure()
            {
                self.check_plain_credentials(&UrlOrigin::of(&url))?;
            }
            let header = authorization.map(|authorization| &authorization.header);
            match self
                .state
                .http
                .send(&http_request, header, &may_be_plain)
                .await
            {
                Ok(received) if secure => return Ok((url, received)),
                Ok(received) => {
                    // A server that expects TLS answers plain HTTP with 400.
                    let is_bad_request = received.response.status() == StatusCode::BAD_REQUEST;
                    match tls_error {
                        Some(error @ RegistryError::Unreachable { .. }) if is_bad_request => {
                            return Err(error);
                        }
                        None if is_bad_request => self.forget_plain_http_host(&endpoint.host),
                        _ => self.remember_plain_http_host(&endpoint.host),
                    }
                    return Ok((url, received));
                }
                Err(SendError::NotTls(error)) if secure => {
                    let plain = endpoint.url(false, "").map(|url| UrlOrigin::of(&url));
                    if !plain.is_some_and(|origin| may_be_plain(&origin)) {
                        return Err(error);
                    }
                    tls_error = Some(error);
                }
                Err(error) => {
                    self.forget_plain_http_host(&endpoint.host);
                    return Err(error.into_inner());
                }
            }
        }
        Err(RegistryError::Protocol {
            url: endpoint.host.clone(),
            problem: "it supports neither TLS nor plain HTTP",
        })
    }

    /// What may be sent to a host over plain HTTP.
    pub(super) fn plain_http(&self, origin: &UrlOrigin) -> PlainHttp {
        let allowed = &self.state.options.plain_http;
        let named = allowed.get(&origin.authority());
        let named = named.or_else(|| allowed.get(&format!("{}:{}", origin.host(), origin.port())));
        match named {
            Some(plain) => *plain,
            None if origin.is_private() => PlainHttp::Anonymous,
            None => PlainHttp::Never,
        }
    }

    pub(super) fn check_plain_credentials(&self, origin: &UrlOrigin) -> Result<(), RegistryError> {
        match self.plain_http(origin) {
            PlainHttp::WithCredentials => Ok(()),
            _ => Err(RegistryError::PlainHttpRefused {
                content: "credentials",
                host: origin.to_string(),
            }),
        }
    }

    fn is_plain_http_host(&self, host: &str) -> bool {
        let hosts = self.state.plain_http_hosts.lock();
        hosts.unwrap_or_else(PoisonError::into_inner).contains(host)
    }

    /// The host may support TLS by now.
    fn forget_plain_http_host(&self, host: &str) {
        let hosts = self.state.plain_http_hosts.lock();
        hosts.unwrap_or_else(PoisonError::into_inner).remove(host);
    }

    fn remember_plain_http_host(&self, host: &str) {
        let hosts = self.state.plain_http_hosts.lock();
        let mut hosts = hosts.unwrap_or_else(PoisonError::into_inner);
        if hosts.len() >= MAX_PLAIN_HTTP_HOSTS {
            hosts.clear();
        }
        hosts.insert(host.to_owned());
    }
}

/// The error of a response without a success status.
async fn status_error(
    endpoint: &RepositoryEndpoint,
    request: &RegistryRequest,
    url: &Uri,
    received: HttpResponse,
) -> RegistryError {
    let status = received.response.status();
    let retry_after = retry_after(received.response.headers(), SystemTime::now());
    let body = received.response.into_body();
    let body = read_body(body, url, MAX_ERROR_BODY, "an error response").await;
    let message = error_body::message(&body.unwrap_or_default());
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN if received.from_origin => {
            request.denied(endpoint, message)
        }
        StatusCode::NOT_FOUND => RegistryError::NotFound {
            subject: request.subject.clone(),
            message,
        },
        _ => RegistryError::Status {
            url: without_query(url),
            status,
            message,
            retry_after,
        },
    }
}
