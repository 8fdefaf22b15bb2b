//! Connections for the HTTP client: TCP or a proxy, and TLS with the first CA certificates that verify the server.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::TlsConnector;
use tower_service::Service;

use super::SendError;
use super::dial::{ByteStream, Dialer};
use super::tls_roots::{TlsRoots, server_name};
use super::tunnel::open_tunnel;
use super::url::{UrlOrigin, without_query};
use crate::error::RegistryError;
use crate::proxy::Proxies;

/// How long connecting, with the TLS handshake, may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// Opens the connections of the HTTP client.
#[derive(Clone)]
pub(crate) struct Connector {
    dialer: Dialer,
    tls_roots: Arc<TlsRoots>,
    proxies: Arc<Proxies>,
}

/// Why a connection failed.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    #[error("cannot connect")]
    Dial(#[source] Arc<io::Error>),
    #[error("cannot connect through the proxy")]
    Proxy(#[source] Arc<io::Error>),
    #[error("the server does not support TLS")]
    NotTls(#[source] Arc<io::Error>),
    #[error("the connection was closed during the TLS handshake")]
    Closed(#[source] Arc<io::Error>),
    #[error("the TLS handshake failed")]
    Tls(#[source] Arc<io::Error>),
}

impl Connector {
    pub(crate) fn new(dialer: Dialer, tls_roots: TlsRoots, proxies: Proxies) -> Connector {
        Connector {
            dialer,
            tls_roots: Arc::new(tls_roots),
            proxies: Arc::new(proxies),
        }
    }

    async fn connect(self, url: Uri) -> Result<TokioIo<HttpConnection>, ConnectError> {
        let origin = UrlOrigin::of(&url);
        let timed_out = || {
            let message = format!("not connected within {} seconds", CONNECT_TIMEOUT.as_secs());
            dial_error(io::Error::new(io::ErrorKind::TimedOut, message))
        };
        let connected = async {
            match origin.is_secure() {
                true => self.connect_tls(&origin).await,
                false => self.dial(&origin).await,
            }
        };
        let stream = tokio::time::timeout(CONNECT_TIMEOUT, connected).await;
        let stream = stream.map_err(|_| timed_out())??;
        Ok(TokioIo::new(HttpConnection { stream }))
    }

    async fn dial(&self, origin: &UrlOrigin) -> Result<Box<dyn ByteStream>, ConnectError> {
        let Some(proxy) = self.proxies.for_origin(origin) else {
            let dialled = self.dialer.dial(origin.host().to_owned(), origin.port());
            return dialled.await.map_err(dial_error);
        };
        let refused = |error: io::Error| {
            let message = format!("cannot reach the proxy {proxy}: {error}");
            proxy_error(io::Error::new(error.kind(), message))
        };
        let stream = self.dialer.dial(proxy.host.clone(), proxy.port);
        let stream = stream.await.map_err(refused)?;
        open_tunnel(proxy, stream, origin)
            .await
            .map_err(proxy_error)
    }

    async fn connect_tls(&self, origin: &UrlOrigin) -> Result<Box<dyn ByteStream>, ConnectError> {
        let name = server_name(origin.host()).map_err(tls_error)?;
        let mut failed = None;
        for roots in self.tls_roots.sets().await.map_err(tls_error)? {
            if let Some(error) = &failed {
                tracing::warn!(host = %origin, %error, "cannot verify the registry's certificate, trying {}", roots.name);
            }
            let stream = self.dial(origin).await?;
            let connector = TlsConnector::from(roots.config);
            match connector.connect(name.clone(), stream).await {
                Ok(stream) => return Ok(Box::new(stream)),
                Err(error) => match handshake_failure(&error) {
                    HandshakeFailure::Untrusted => failed = Some(error),
                    HandshakeFailure::NotTls => return Err(ConnectError::NotTls(Arc::new(error))),
                    HandshakeFailure::Closed => return Err(ConnectError::Closed(Arc::new(error))),
                },
            }
        }
        let no_roots = || io::Error::other("no CA certificates");
        Err(tls_error(failed.unwrap_or_else(no_roots)))
    }
}

/// Why a TLS handshake failed.
enum HandshakeFailure {
    /// Other CA certificates may verify the server.
    Untrusted,
    NotTls,
    /// The server closed the connection. Servers without TLS do that, and busy servers with TLS.
    Closed,
}

fn handshake_failure(error: &io::Error) -> HandshakeFailure {
    match error.get_ref().and_then(|inner| inner.downcast_ref()) {
        Some(rustls::Error::InvalidMessage(_)) => HandshakeFailure::NotTls,
        Some(_) => HandshakeFailure::Untrusted,
        None => HandshakeFailure::Closed,
    }
}

fn dial_error(error: io::Error) -> ConnectError {
    ConnectError::Dial(Arc::new(error))
}

fn proxy_error(error: io::Error) -> ConnectError {
    ConnectError::Proxy(Arc::new(error))
}

fn tls_error(error: io::Error) -> ConnectError {
    ConnectError::Tls(Arc::new(error))
}

impl ConnectError {
    pub(super) fn to_send_error(&self, url: &Uri) -> SendError {
        let copy = |error: &Arc<io::Error>| io::Error::new(error.kind(), Arc::clone(error));
        let unreachable = |error| RegistryError::Unreachable {
            url: without_query(url),
            source: copy(error),
        };
        match self {
            // Without a port, plain HTTP is on another port.
            ConnectError::Dial(error) if url.port().is_none() => {
                SendError::NotTls(unreachable(error))
            }
            ConnectError::Closed(error) => SendError::NotTls(unreachable(error)),
            ConnectError::Dial(error) | ConnectError::Proxy(error) => {
                SendError::Other(unreachable(error))
            }
            ConnectError::NotTls(error) => SendError::NotTls(RegistryError::Tls {
                host: UrlOrigin::of(url).to_string(),
                source: copy(error),
            }),
            ConnectError::Tls(error) => SendError::Other(RegistryError::Tls {
                host: UrlOrigin::of(url).to_string(),
                source: copy(error),
            }),
        }
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<HttpConnection>;
    type Error = ConnectError;
    type Future =
        Pin<Box<dyn Future<Output = Result<TokioIo<HttpConnection>, ConnectError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, url: Uri) -> Self::Future {
        Box::pin(self.clone().connect(url))
    }
}

/// A connection with the traits that hyper requires.
pub(crate) struct HttpConnection {
    stream: Box<dyn ByteStream>,
}

impl Connection for HttpConnection {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl AsyncRead for HttpConnection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for HttpConnection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
