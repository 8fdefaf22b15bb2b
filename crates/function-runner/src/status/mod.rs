//! The status page: its own port, read-only, protected by the token of calls.
//!
//! The port is bound before the port of calls, so that every error comes first. A page shows no input and no output of a function.

mod collect;

use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use http::header::{ALLOW, CONTENT_TYPE, HOST, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use kiln_pages::status::{StatusRequest, page_headers};
use kiln_server::BearerToken;
use kiln_telemetry::{PageFuture, PageServer};

use crate::config::StatusConfig;
pub(crate) use collect::{ConfiguredLimits, StatusCollector, settings};

const PLAIN: &str = "text/plain; charset=utf-8";

/// A port that is bound. Connections are queued until [`StatusListener::serve`].
pub(crate) struct StatusListener {
    listener: TcpListener,
    address: SocketAddr,
}

impl StatusListener {
    /// Binds the port; `None` if it is in use and the user did not choose it: a second program may run.
    pub(crate) fn bind(config: StatusConfig) -> Result<Option<StatusListener>> {
        let bound = TcpListener::bind(config.address).and_then(|listener| {
            let address = listener.local_addr()?;
            Ok(StatusListener { listener, address })
        });
        match bound {
            Ok(listener) => Ok(Some(listener)),
            Err(error) if !config.is_chosen => {
                tracing::warn!(
                    "there is no status page: cannot listen on {}: {error}; --status-address selects another address",
                    config.address
                );
                Ok(None)
            }
            Err(error) => Err(error).with_context(|| {
                format!(
                    "listen on {} for the status page (--status-address)",
                    config.address
                )
            }),
        }
    }

    /// Serves until the returned server is dropped.
    pub(crate) fn serve(
        self,
        collector: StatusCollector,
        token: Option<Arc<BearerToken>>,
    ) -> Result<PageServer> {
        let is_local = self.address.ip().is_loopback();
        if !is_local && token.is_none() {
            tracing::warn!(
                "every client that reaches {} can read the status page; --auth-token-file protects it",
                self.address
            );
        }
        let pages = Arc::new(StatusPages {
            collector,
            token,
            is_local,
            headers: common_headers(),
        });
        let handler = move |request: Parts| -> PageFuture {
            let pages = Arc::clone(&pages);
            Box::pin(async move { pages.respond(&request).await })
        };
        let server = PageServer::start(self.listener, "the status page", Arc::new(handler))
            .context("serve the status page")?;
        // Not `address`, which scripts look for to find the port of calls.
        tracing::info!(page = %self.address, "the status page is at /");
        Ok(server)
    }
}

/// Answers requests.
struct StatusPages {
    collector: StatusCollector,
    token: Option<Arc<BearerToken>>,
    /// Whether only this machine reaches the port.
    is_local: bool,
    /// The headers of every response.
    headers: HeaderMap,
}

impl StatusPages {
    async fn respond(&self, request: &Parts) -> Response<String> {
        let mut response = match self.refusal(request) {
            Some(refusal) => refusal,
            None => {
                let (path, query) = (request.uri.path(), request.uri.query());
                match StatusRequest::parse(path, query.unwrap_or_default()) {
                    Some(page) => {
                        let reply = page.reply(&self.collector.collect().await);
                        let code = StatusCode::from_u16(reply.code).unwrap_or_default();
                        text(code, reply.content_type, reply.body)
                    }
                    None => {
                        let message = "there is no such page; the overview is at /\n";
                        text(StatusCode::NOT_FOUND, PLAIN, message.to_owned())
                    }
                }
            }
        };
        response.headers_mut().extend(self.headers.clone());
        response
    }

    /// The response to a request that gets no page.
    fn refusal(&self, request: &Parts) -> Option<Response<String>> {
        // A page of another site that resolves its name to this machine must not read the status.
        if self.is_local && !names_this_machine(&request.headers) {
            let message = "use localhost or an IP address as the host\n".to_owned();
            return Some(text(StatusCode::MISDIRECTED_REQUEST, PLAIN, message));
        }
        if let Some(token) = &self.token
            && !token.is_valid_in(&request.headers)
        {
            let message = "missing or invalid bearer token\n".to_owned();
            let mut response = text(StatusCode::UNAUTHORIZED, PLAIN, message);
            let scheme = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(WWW_AUTHENTICATE, scheme);
            return Some(response);
        }
        if !matches!(request.method, Method::GET | Method::HEAD) {
            let message = "the status page is read-only\n".to_owned();
            let mut response = text(StatusCode::METHOD_NOT_ALLOWED, PLAIN, message);
            let allowed = HeaderValue::from_static("GET, HEAD");
            response.headers_mut().insert(ALLOW, allowed);
            return Some(response);
        }
        None
    }
}

fn text(code: StatusCode, content_type: &'static str, body: String) -> Response<String> {
    let mut response = Response::new(body);
    *response.status_mut() = code;
    let content_type = HeaderValue::from_static(content_type);
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}

fn common_headers() -> HeaderMap {
    let headers = page_headers().into_iter().filter_map(|(name, value)| {
        let value = HeaderValue::from_str(&value).ok()?;
        Some((HeaderName::from_static(name), value))
    });
    headers.collect()
}

/// Whether the host of a request is `localhost` or an IP address, with any port.
fn names_this_machine(headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let Some(host) = host else {
        return false;
    };
    if host.parse::<SocketAddr>().is_ok() {
        return true;
    }
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok()
}

pub(crate) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
