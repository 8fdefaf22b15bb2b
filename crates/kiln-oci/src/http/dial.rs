//! Connections to hosts: TCP, or in-memory streams in tests.

use std::io;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

/// A connection of any kind.
pub(crate) trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

pub(crate) trait Dial: Send + Sync {
    fn dial(&self, host: String, port: u16) -> BoxFuture<'static, io::Result<Box<dyn ByteStream>>>;
}

pub(crate) type Dialer = Arc<dyn Dial>;

pub(crate) struct TcpDialer;

impl Dial for TcpDialer {
    fn dial(&self, host: String, port: u16) -> BoxFuture<'static, io::Result<Box<dyn ByteStream>>> {
        Box::pin(async move {
            let stream = TcpStream::connect((host.as_str(), port)).await?;
            stream.set_nodelay(true)?;
            Ok(Box::new(stream) as Box<dyn ByteStream>)
        })
    }
}
