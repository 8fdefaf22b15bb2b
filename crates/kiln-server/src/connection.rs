//! A connection from its first byte to its last.
//!
//! It has a little time to say that it speaks HTTP/2, and is asked now and then whether it is still there. Connections
//! that do neither are closed; they never have a place among the calls.

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::lifecycle::{Lifecycle, Phase};
use crate::router::Router;
use crate::tls::Tls;

/// How long a connection has for TLS and for the first bytes of HTTP/2.
const MAX_GREETING: Duration = Duration::from_secs(10);

/// The first bytes of HTTP/2.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// How much may be on its way to us on a stream, and on a connection, before we have read it.
const STREAM_WINDOW: u32 = 1024 * 1024;
const CONNECTION_WINDOW: u32 = 8 * 1024 * 1024;

/// Why a connection came to nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectionError {
    #[error("nothing was said for {} seconds", MAX_GREETING.as_secs())]
    Silent,
    #[error("what was said first is not HTTP/2{}", hint(.0))]
    NotHttp2([u8; 24]),
    #[error("the connection broke")]
    Broken(#[from] io::Error),
    #[error("the connection broke")]
    Http(#[from] hyper::Error),
}

fn hint(first: &[u8]) -> &'static str {
    match first {
        // The head of a TLS handshake.
        [0x16, 0x03, ..] => ", but TLS, and this server has no certificate",
        _ => "",
    }
}

/// Serves a connection until it ends.
pub(crate) async fn serve(
    stream: TcpStream,
    tls: Option<Arc<Tls>>,
    router: Arc<Router>,
    lifecycle: Arc<Lifecycle>,
) -> Result<(), ConnectionError> {
    // Answers are small, and nobody should wait for more to come.
    stream.set_nodelay(true)?;
    match tls {
        None => serve_stream(stream, router, lifecycle).await,
        Some(tls) => {
            let accepted = timeout(MAX_GREETING, tls.acceptor().accept(stream)).await;
            let stream = accepted.map_err(|_| ConnectionError::Silent)??;
            serve_stream(stream, router, lifecycle).await
        }
    }
}

async fn serve_stream<S>(
    mut stream: S,
    router: Arc<Router>,
    lifecycle: Arc<Lifecycle>,
) -> Result<(), ConnectionError>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let mut first = [0; PREFACE.len()];
    let read = timeout(MAX_GREETING, stream.read_exact(&mut first)).await;
    match read.map_err(|_| ConnectionError::Silent)? {
        // Somebody looked whether the port is open.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
        read => read?,
    };
    if first != *PREFACE {
        return Err(ConnectionError::NotHttp2(first));
    }
    let stream = Greeted {
        unread: &PREFACE[..],
        stream,
    };
    let service = service_fn(move |request| router.route(request));
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_concurrent_streams(1000)
        .max_header_list_size(64 * 1024)
        .keep_alive_interval(Duration::from_secs(60))
        .keep_alive_timeout(Duration::from_secs(20));
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        served = connection.as_mut() => return Ok(served?),
        () = lifecycle.reached(Phase::Draining) => {}
    }
    // The peer is told to go elsewhere with what it wants next, and hears the end of what it has begun.
    connection.as_mut().graceful_shutdown();
    tokio::select! {
        served = connection.as_mut() => Ok(served?),
        () = lifecycle.reached(Phase::Ended) => Ok(()),
    }
}

/// A stream whose first bytes have been looked at.
struct Greeted<S> {
    unread: &'static [u8],
    stream: S,
}

impl<S: AsyncRead + Unpin> AsyncRead for Greeted<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.unread.is_empty() {
            return Pin::new(&mut this.stream).poll_read(cx, buf);
        }
        let (now, later) = this.unread.split_at(this.unread.len().min(buf.remaining()));
        buf.put_slice(now);
        this.unread = later;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Greeted<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests;
