//! A connection from its first byte to its last.
//!
//! It has a little time for TLS and the preface of HTTP/2, must not be without a stream for long, and is asked now and then
//! whether it is still there. Connections that do not keep to that are closed. What HTTP/2 keeps in memory for a connection
//! is bounded by the limits below: windows, streams, headers and resets.

use std::convert::Infallible;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use tonic::body::Body;

use crate::connections::{
    ClientReset, ConnectionEnd, MAX_STREAMS, OpenConnection, Registered, Unanswered,
};
use crate::lifecycle::{Lifecycle, Phase};
use crate::router::Router;
use crate::streams::Streams;
use crate::tls::Tls;

/// How long a connection has for TLS and for the first bytes of HTTP/2 together.
const MAX_GREETING: Duration = Duration::from_secs(10);

/// The first bytes of HTTP/2.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// How much may be on its way to us on a stream, and on a connection, before we have read it.
const STREAM_WINDOW: u32 = 512 * 1024;
const CONNECTION_WINDOW: u32 = 2 * 1024 * 1024;

/// How much of an answer HTTP/2 keeps for a client that does not read.
const MAX_SEND_BUFFER: usize = 64 * 1024;

/// How many streams may be reset because of a client's errors in the life of a connection.
const MAX_ERROR_RESETS: usize = 4 * MAX_STREAMS as usize;

/// How long a connection that has to make room may take to end, and one that was idle.
const EVICTION: Duration = Duration::from_millis(250);
const IDLE_END: Duration = Duration::from_secs(5);

/// Why a connection came to nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectionError {
    #[error("nothing was said for {} seconds", MAX_GREETING.as_secs())]
    Silent,
    #[error("what was said first is not HTTP/2{}", hint(.0))]
    NotHttp2([u8; 24]),
    #[error("the client opens and resets streams in a loop")]
    TooManyResets,
    #[error("another connection needed its place")]
    Evicted,
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

/// What every connection of a server needs.
#[derive(Clone)]
pub(crate) struct Acceptor {
    pub(crate) tls: Option<Arc<Tls>>,
    pub(crate) router: Arc<Router>,
    pub(crate) lifecycle: Arc<Lifecycle>,
    pub(crate) idle_timeout: Duration,
}

/// Serves a connection until it ends.
pub(crate) async fn serve(
    stream: TcpStream,
    acceptor: Acceptor,
    registered: Registered,
) -> Result<(), ConnectionError> {
    // Answers are small, and nobody should wait for more to come.
    stream.set_nodelay(true)?;
    match &acceptor.tls {
        None => serve_without_tls(stream, &acceptor, &registered).await,
        Some(tls) => {
            let greeted_until = Instant::now() + MAX_GREETING;
            let accepting = tls.acceptor().accept(stream);
            let stream = greeted(accepting, registered.connection(), greeted_until).await?;
            serve_stream(stream, &acceptor, &registered, greeted_until).await
        }
    }
}

/// Serves a connection of any kind until it ends.
pub(crate) async fn serve_without_tls<S>(
    stream: S,
    acceptor: &Acceptor,
    registered: &Registered,
) -> Result<(), ConnectionError>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    serve_stream(stream, acceptor, registered, Instant::now() + MAX_GREETING).await
}

/// What comes of a step before the first request, if it comes in time.
async fn greeted<T>(
    step: impl Future<Output = io::Result<T>>,
    connection: &OpenConnection,
    until: Instant,
) -> Result<T, ConnectionError> {
    tokio::select! {
        done = timeout_at(until, step) => Ok(done.map_err(|_| ConnectionError::Silent)??),
        _ = connection.ended(Duration::MAX) => Err(ConnectionError::Evicted),
    }
}

async fn serve_stream<S>(
    mut stream: S,
    acceptor: &Acceptor,
    registered: &Registered,
    greeted_until: Instant,
) -> Result<(), ConnectionError>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let connection = registered.connection();
    let mut first = [0; PREFACE.len()];
    let read = greeted(stream.read_exact(&mut first), connection, greeted_until).await;
    match read {
        // A client looked whether the port is open.
        Err(ConnectionError::Broken(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
            return Ok(());
        }
        read => read?,
    };
    if first != *PREFACE {
        return Err(ConnectionError::NotHttp2(first));
    }
    let stream = Greeted {
        unread: &PREFACE[..],
        stream,
    };
    let mut http = pin!(
        builder(connection).serve_connection(TokioIo::new(stream), service(acceptor, connection))
    );
    let lifecycle = &acceptor.lifecycle;
    tokio::select! {
        served = http.as_mut() => return Ok(served?),
        end = connection.ended(acceptor.idle_timeout) => {
            let time = match end {
                ConnectionEnd::TooManyResets => return Err(ConnectionError::TooManyResets),
                ConnectionEnd::Evicted => EVICTION,
                ConnectionEnd::Idle => IDLE_END,
            };
            // A request that is on its way is still answered.
            http.as_mut().graceful_shutdown();
            // A client that does not answer is left.
            let _ = timeout(time, http).await;
            return Ok(());
        }
        () = lifecycle.reached(Phase::Draining) => {}
    }
    // The peer is told to go elsewhere with what it wants next, and hears the end of what it has begun.
    http.as_mut().graceful_shutdown();
    tokio::select! {
        served = http.as_mut() => Ok(served?),
        () = lifecycle.reached(Phase::Ended) => Ok(()),
    }
}

fn builder(connection: &Arc<OpenConnection>) -> http2::Builder<Streams> {
    let mut builder = http2::Builder::new(Streams(Arc::clone(connection)));
    builder
        .timer(TokioTimer::new())
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(MAX_SEND_BUFFER)
        .max_concurrent_streams(MAX_STREAMS)
        // A client may cancel all its calls at once. How often is counted by the connection.
        .max_pending_accept_reset_streams(MAX_STREAMS as usize)
        .max_local_error_reset_streams(MAX_ERROR_RESETS)
        .max_header_list_size(64 * 1024)
        .keep_alive_interval(Duration::from_secs(60))
        .keep_alive_timeout(Duration::from_secs(20));
    builder
}

/// Answers the requests of a connection, and counts those that the client takes back.
fn service(
    acceptor: &Acceptor,
    connection: &Arc<OpenConnection>,
) -> impl Service<Request<Incoming>, Response = Response<Body>, Error = Infallible, Future: Send> + use<>
{
    let router = Arc::clone(&acceptor.router);
    let connection = Arc::clone(connection);
    service_fn(move |request| {
        let unanswered = Unanswered::new(&connection);
        let answering = router.route(request, &connection);
        async move {
            let answer = answering.await?;
            if answer.extensions().get::<ClientReset>().is_none() {
                unanswered.answered();
            }
            Ok(answer)
        }
    })
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
