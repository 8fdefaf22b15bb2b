//! A connection from its first byte to its last.
//!
//! It has a limited time for TLS and the preface of HTTP/2, must not be without a stream for long, and is pinged
//! periodically. Connections that exceed these limits are closed. The limits below bound the memory that HTTP/2 keeps
//! for a connection: windows, streams, headers and resets.

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

/// Time limit for TLS and the preface of HTTP/2 together.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// The preface of HTTP/2.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Flow-control windows of a stream and of a connection.
const STREAM_WINDOW: u32 = 512 * 1024;
const CONNECTION_WINDOW: u32 = 2 * 1024 * 1024;

/// How much of a response HTTP/2 keeps for a client that does not read.
const MAX_SEND_BUFFER: usize = 64 * 1024;

/// Maximum number of streams that are reset because of a client's errors during a connection.
const MAX_ERROR_RESETS: usize = 4 * MAX_STREAMS as usize;

/// How long an evicted connection may take to end, and an idle one.
const EVICTION: Duration = Duration::from_millis(250);
const IDLE_END: Duration = Duration::from_secs(5);

/// Why a connection failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectionError {
    #[error("no request within {} seconds", HANDSHAKE_TIMEOUT.as_secs())]
    Silent,
    #[error("the first bytes are not HTTP/2{}", hint(.0))]
    NotHttp2([u8; 24]),
    #[error("the client opens and resets streams in a loop")]
    TooManyResets,
    #[error("evicted for another connection")]
    Evicted,
    #[error("the connection failed")]
    Broken(#[from] io::Error),
    #[error("the connection failed")]
    Http(#[from] hyper::Error),
}

fn hint(first: &[u8]) -> &'static str {
    match first {
        // The head of a TLS handshake.
        [0x16, 0x03, ..] => ", but TLS, and this server has no certificate",
        _ => "",
    }
}

/// The state that all connections of a server share.
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
    // Responses are small and should be sent at once.
    stream.set_nodelay(true)?;
    match &acceptor.tls {
        None => serve_without_tls(stream, &acceptor, &registered).await,
        Some(tls) => {
            let greeted_until = Instant::now() + HANDSHAKE_TIMEOUT;
            let accepting = tls.acceptor().accept(stream);
            let stream =
                before_first_request(accepting, registered.connection(), greeted_until).await?;
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
    serve_stream(
        stream,
        acceptor,
        registered,
        Instant::now() + HANDSHAKE_TIMEOUT,
    )
    .await
}

/// The result of a step before the first request, within its time limit.
async fn before_first_request<T>(
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
    let read = before_first_request(stream.read_exact(&mut first), connection, greeted_until).await;
    match read {
        // A client checked whether the port is open.
        Err(ConnectionError::Broken(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
            return Ok(());
        }
        read => read?,
    };
    if first != *PREFACE {
        return Err(ConnectionError::NotHttp2(first));
    }
    let stream = PeekedStream {
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
            // A request in transit is still answered.
            http.as_mut().graceful_shutdown();
            // A client that does not respond is disconnected.
            let _ = timeout(time, http).await;
            return Ok(());
        }
        () = lifecycle.reached(Phase::Draining) => {}
    }
    // The peer sends its next calls elsewhere, and gets the responses of the current ones.
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
        // A client may cancel all its calls at once. The connection counts how often.
        .max_pending_accept_reset_streams(MAX_STREAMS as usize)
        .max_local_error_reset_streams(MAX_ERROR_RESETS)
        .max_header_list_size(64 * 1024)
        .keep_alive_interval(Duration::from_secs(60))
        .keep_alive_timeout(Duration::from_secs(20));
    builder
}

/// Answers the requests of a connection, and counts those that the client cancels.
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

/// A stream whose first bytes have been read ahead.
struct PeekedStream<S> {
    unread: &'static [u8],
    stream: S,
}

impl<S: AsyncRead + Unpin> AsyncRead for PeekedStream<S> {
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

impl<S: AsyncWrite + Unpin> AsyncWrite for PeekedStream<S> {
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
