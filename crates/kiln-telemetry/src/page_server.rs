//! An HTTP server of pages.
//!
//! One response per connection, with limits for everything that a client controls. What a page contains is the work of its
//! [`PageHandler`]; the server reads no body of a request.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use http::request::Parts;
use http_body_util::Full;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

/// The longest time of a connection.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);

/// The largest number of connections; further ones wait.
const MAX_CONNECTIONS: usize = 16;

/// The largest head of a request.
const MAX_HEAD: usize = 16 * 1024;

/// Answers requests.
pub type PageHandler = Arc<dyn Fn(Parts) -> PageFuture + Send + Sync>;

/// A response in the making.
pub type PageFuture = Pin<Box<dyn Future<Output = Response<String>> + Send>>;

/// Serves pages until it is dropped.
pub struct PageServer {
    address: SocketAddr,
    serving: AbortHandle,
}

impl PageServer {
    /// Serves on a port that is bound, in the current runtime. `topic` names the pages in the log.
    pub fn start(
        listener: TcpListener,
        topic: &'static str,
        handler: PageHandler,
    ) -> io::Result<PageServer> {
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let serving = tokio::spawn(serve(listener, topic, handler)).abort_handle();
        Ok(PageServer { address, serving })
    }

    /// The address with the port that the system chose for port 0.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for PageServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(listener: tokio::net::TcpListener, topic: &'static str, handler: PageHandler) {
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        // The semaphore is never closed.
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else {
            return;
        };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::debug!(%error, "cannot accept a connection for {topic}");
                // Usually there are no free file descriptors; wait until connections end.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let handler = Arc::clone(&handler);
        tokio::spawn(async move {
            let _permit = permit;
            let service = service_fn(move |request: http::Request<hyper::body::Incoming>| {
                let response = handler(request.into_parts().0);
                async move {
                    let response = response.await.map(|text| Full::new(Bytes::from(text)));
                    Ok::<_, Infallible>(response)
                }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(CONNECTION_TIMEOUT)
                .keep_alive(false)
                .half_close(true)
                .max_buf_size(MAX_HEAD)
                .serve_connection(TokioIo::new(stream), service);
            match tokio::time::timeout(CONNECTION_TIMEOUT, connection).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::debug!(%error, "bad request for {topic}"),
                Err(_) => tracing::debug!("a connection for {topic} took too long"),
            }
        });
    }
}
