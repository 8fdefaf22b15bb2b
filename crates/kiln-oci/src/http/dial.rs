//! Connections to hosts: TCP, or in-memory streams in tests.

use std::io;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};

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
            let addresses = lookup_host((host.as_str(), port)).await;
            let addresses: Vec<_> = addresses.map_err(unknown_host)?.collect();
            let stream = TcpStream::connect(addresses.as_slice()).await?;
            stream.set_nodelay(true)?;
            Ok(Box::new(stream) as Box<dyn ByteStream>)
        })
    }
}

/// A name without an address has a kind of its own: that of the standard library cannot be matched.
fn unknown_host(error: io::Error) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_name_that_cannot_be_looked_up_is_not_found() {
        // Too long for DNS, so nothing is asked.
        let dialled = TcpDialer.dial("a".repeat(64), 1).await;
        let error = dialled.err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::NotFound, "{error}");
    }
}
