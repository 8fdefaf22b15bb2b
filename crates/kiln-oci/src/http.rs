//! HTTP as far as registries need it: connections with several ideas of whom to trust, redirects that carry no secrets away,
//! bodies of bounded size, and patience.
//!
//! What registries mean by their answers is none of its business, except that it can read their error texts.

pub(crate) mod connector;
pub(crate) mod dial;
mod request;
pub(crate) mod retry;
pub(crate) mod trust;
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
use crate::http::url::{Origin, resolve};
pub(crate) use request::{Answer, Call, read_body, read_piece};

/// How long a registry may think before it answers.
const PATIENCE: Duration = Duration::from_secs(60);
/// The same when much is sent.
const UPLOAD_PATIENCE: Duration = Duration::from_secs(600);
const MAX_REDIRECTS: usize = 5;

/// Sends requests.
pub(crate) struct Http {
    client: Client<Connector, Full<Bytes>>,
}

/// An answer's head, and whether it came from the one who was asked.
pub(crate) struct Head {
    pub(crate) response: Response<Incoming>,
    pub(crate) from_origin: bool,
}

/// What failed, for those who know another way.
pub(crate) enum SendError {
    /// The other side does not speak TLS ([`RegistryError::Tls`]), or may not: nobody listens where TLS is spoken, or whoever
    /// does says nothing ([`RegistryError::Unreachable`]).
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

impl Http {
    pub(crate) fn new(connector: Connector) -> Http {
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(30))
            .pool_max_idle_per_host(4)
            .build(connector);
        Http { client }
    }

    /// Sends a call and follows redirects. Only the origin that was asked first sees `authorization`.
    pub(crate) async fn send(
        &self,
        call: &Call,
        authorization: Option<&HeaderValue>,
        may_be_plain: &(dyn Fn(&Origin) -> bool + Sync),
    ) -> Result<Head, SendError> {
        let origin = Origin::of(&call.url);
        let mut url = call.url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let here = Origin::of(&url);
            if !here.is_secure() && !may_be_plain(&here) {
                return Err(SendError::Other(RegistryError::InClear {
                    what: "nothing is sent",
                    host: here.to_string(),
                }));
            }
            let from_origin = here == origin;
            let shown = authorization.filter(|_| from_origin);
            let response = self.send_one(call, &url, shown).await?;
            if !is_redirect(response.status()) {
                return Ok(Head {
                    response,
                    from_origin,
                });
            }
            url = self.next(call, &url, &response)?;
        }
        Err(SendError::Other(RegistryError::Redirect {
            url: url::shown(&call.url),
            problem: "on and on",
        }))
    }

    fn next(
        &self,
        call: &Call,
        url: &Uri,
        response: &Response<Incoming>,
    ) -> Result<Uri, RegistryError> {
        let refused = |problem| RegistryError::Redirect {
            url: url::shown(url),
            problem,
        };
        if call.method != Method::GET && call.method != Method::HEAD {
            return Err(refused("what is to be stored"));
        }
        let location = response.headers().get(header::LOCATION);
        let next = location.and_then(|location| resolve(url, location.to_str().ok()?));
        let next = next.ok_or_else(|| refused("to a place that is no URL"))?;
        if Origin::of(url).is_secure() && !Origin::of(&next).is_secure() {
            return Err(refused("to plain http"));
        }
        Ok(next)
    }

    async fn send_one(
        &self,
        call: &Call,
        url: &Uri,
        authorization: Option<&HeaderValue>,
    ) -> Result<Response<Incoming>, SendError> {
        let request = call.request(url, authorization);
        let patience = match call.body.len() {
            0..0x10_0000 => PATIENCE,
            _ => UPLOAD_PATIENCE,
        };
        let unreachable = |source| RegistryError::Unreachable {
            url: url::shown(url),
            source,
        };
        match tokio::time::timeout(patience, self.client.request(request)).await {
            Err(_) => {
                let message = format!("no answer within {} seconds", patience.as_secs());
                let slow = io::Error::new(io::ErrorKind::TimedOut, message);
                Err(SendError::Other(unreachable(slow)))
            }
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(why(error, url)),
        }
    }
}

/// Finds our own error inside of the client's.
fn why(error: hyper_util::client::legacy::Error, url: &Uri) -> SendError {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(inner) = source {
        if let Some(connect) = inner.downcast_ref::<ConnectError>() {
            return connect.to_send_error(url);
        }
        source = inner.source();
    }
    SendError::Other(RegistryError::Unreachable {
        url: url::shown(url),
        source: io::Error::other(error),
    })
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}
