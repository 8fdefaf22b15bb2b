//! A connection by way of a proxy: it is asked to connect, and from then on passes everything on unread.

use std::io;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::dial::Stream;
use super::url::Origin;
use crate::proxy::Proxy;

/// How long an answer's head may be.
const MAX_HEAD: usize = 16 << 10;

/// Has a proxy that is connected to connect to somebody.
pub(super) async fn through(
    proxy: &Proxy,
    mut stream: Box<dyn Stream>,
    origin: &Origin,
) -> io::Result<Box<dyn Stream>> {
    let host = match origin.host().contains(':') {
        true => format!("[{}]", origin.host()),
        false => origin.host().to_owned(),
    };
    let place = format!("{host}:{}", origin.port());
    let authorization = match &proxy.authorization {
        Some(value) => format!("Proxy-Authorization: {value}\r\n"),
        None => String::new(),
    };
    let request = format!("CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n{authorization}\r\n");
    stream.write_all(request.as_bytes()).await?;
    stream.flush().await?;
    let head = head(&mut stream).await?;
    match status(&head) {
        Some(code) if code.starts_with('2') => Ok(stream),
        _ => {
            let line = head.lines().next().unwrap_or_default();
            Err(io::Error::other(format!(
                "the proxy {proxy} does not connect to {place}: {line:?}"
            )))
        }
    }
}

/// The head of an answer. Nothing behind it is read: that is somebody else's.
async fn head(stream: &mut Box<dyn Stream>) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= MAX_HEAD {
            return Err(io::Error::other("the answer of the proxy has no end"));
        }
        head.push(stream.read_u8().await?);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

/// The code of an answer such as `HTTP/1.1 200 Connection established`.
fn status(head: &str) -> Option<&str> {
    let rest = head.strip_prefix("HTTP/1.")?;
    rest.split([' ', '\r'])
        .nth(1)
        .filter(|code| code.len() == 3)
}
