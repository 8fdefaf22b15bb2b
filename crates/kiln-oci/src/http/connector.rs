//! Connections for the HTTP client: TCP, and TLS by the first roots that the registry's certificate satisfies.

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
use super::dial::{Dialer, Stream};
use super::trust::{Trust, server_name};
use super::tunnel::through;
use super::url::{Origin, shown};
use crate::error::RegistryError;
use crate::proxy::Proxies;

/// How long connecting and shaking hands may take.
const PATIENCE: Duration = Duration::from_secs(15);

/// Makes the client's connections.
#[derive(Clone)]
pub(crate) struct Connector {
    dialer: Dialer,
    trust: Arc<Trust>,
    proxies: Arc<Proxies>,
}

/// A connection could not be made.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    #[error("cannot connect")]
    Dial(#[source] Arc<io::Error>),
    #[error("cannot connect by way of a proxy")]
    Proxy(#[source] Arc<io::Error>),
    #[error("no TLS is spoken there")]
    NotTls(#[source] Arc<io::Error>),
    #[error("the connection was lost before it was secure")]
    Lost(#[source] Arc<io::Error>),
    #[error("no trust")]
    Tls(#[source] Arc<io::Error>),
}

impl Connector {
    pub(crate) fn new(dialer: Dialer, trust: Trust, proxies: Proxies) -> Connector {
        Connector {
            dialer,
            trust: Arc::new(trust),
            proxies: Arc::new(proxies),
        }
    }

    async fn connect(self, url: Uri) -> Result<TokioIo<Link>, ConnectError> {
        let origin = Origin::of(&url);
        let slow = || {
            let message = format!("not connected within {} seconds", PATIENCE.as_secs());
            dial_error(io::Error::new(io::ErrorKind::TimedOut, message))
        };
        let connected = async {
            match origin.is_secure() {
                true => self.secure(&origin).await,
                false => self.dial(&origin).await,
            }
        };
        let stream = tokio::time::timeout(PATIENCE, connected).await;
        let stream = stream.map_err(|_| slow())??;
        Ok(TokioIo::new(Link { stream }))
    }

    async fn dial(&self, origin: &Origin) -> Result<Box<dyn Stream>, ConnectError> {
        let Some(proxy) = self.proxies.to(origin) else {
            let dialled = self.dialer.dial(origin.host().to_owned(), origin.port());
            return dialled.await.map_err(dial_error);
        };
        let refused = |error: io::Error| {
            let message = format!("the proxy {proxy} cannot be reached: {error}");
            proxy_error(io::Error::new(error.kind(), message))
        };
        let stream = self.dialer.dial(proxy.host.clone(), proxy.port);
        let stream = stream.await.map_err(refused)?;
        through(proxy, stream, origin).await.map_err(proxy_error)
    }

    async fn secure(&self, origin: &Origin) -> Result<Box<dyn Stream>, ConnectError> {
        let name = server_name(origin.host()).map_err(tls_error)?;
        let mut failed = None;
        for roots in self.trust.roots().await.map_err(tls_error)? {
            if let Some(error) = &failed {
                tracing::warn!(host = %origin, %error, "the registry's certificate is refused, trying {}", roots.name);
            }
            let stream = self.dial(origin).await?;
            let connector = TlsConnector::from(roots.config);
            match connector.connect(name.clone(), stream).await {
                Ok(stream) => return Ok(Box::new(stream)),
                Err(error) => match why(&error) {
                    Why::Trust => failed = Some(error),
                    Why::NotTls => return Err(ConnectError::NotTls(Arc::new(error))),
                    Why::Lost => return Err(ConnectError::Lost(Arc::new(error))),
                },
            }
        }
        let nobody = || io::Error::other("there is nobody to trust");
        Err(tls_error(failed.unwrap_or_else(nobody)))
    }
}

/// Why hands were not shaken.
enum Why {
    /// Other roots may help.
    Trust,
    /// What came was no TLS.
    NotTls,
    /// Nothing came. Somebody without TLS may do that, and somebody with it who is busy.
    Lost,
}

fn why(error: &io::Error) -> Why {
    match error.get_ref().and_then(|inner| inner.downcast_ref()) {
        Some(rustls::Error::InvalidMessage(_)) => Why::NotTls,
        Some(_) => Why::Trust,
        None => Why::Lost,
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
            url: shown(url),
            source: copy(error),
        };
        match self {
            // Without a port the other protocol is spoken elsewhere.
            ConnectError::Dial(error) if url.port().is_none() => {
                SendError::NotTls(unreachable(error))
            }
            ConnectError::Lost(error) => SendError::NotTls(unreachable(error)),
            ConnectError::Dial(error) | ConnectError::Proxy(error) => {
                SendError::Other(unreachable(error))
            }
            ConnectError::NotTls(error) => SendError::NotTls(RegistryError::Tls {
                host: Origin::of(url).to_string(),
                source: copy(error),
            }),
            ConnectError::Tls(error) => SendError::Other(RegistryError::Tls {
                host: Origin::of(url).to_string(),
                source: copy(error),
            }),
        }
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Link>;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = Result<TokioIo<Link>, ConnectError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, url: Uri) -> Self::Future {
        Box::pin(self.clone().connect(url))
    }
}

/// A connection as the client wants it.
pub(crate) struct Link {
    stream: Box<dyn Stream>,
}

impl Connection for Link {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl AsyncRead for Link {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Link {
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
