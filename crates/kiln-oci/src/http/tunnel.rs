//! A tunnel through a proxy, opened with `CONNECT`.

use std::io;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::dial::ByteStream;
use super::url::UrlOrigin;
use crate::proxy::Proxy;

/// The longest response head that is read.
const MAX_HEAD: usize = 16 << 10;

/// Opens a tunnel to an origin on a connection to a proxy.
pub(super) async fn open_tunnel(
    proxy: &Proxy,
    mut stream: Box<dyn ByteStream>,
    origin: &UrlOrigin,
) -> io::Result<Box<dyn ByteStream>> {
    let host = match origin.host().contains(':') {
        true => format!("[{}]", origin.host()),
        false => origin.host().to_owned(),
    };
    let authority = format!("{host}:{}", origin.port());
    let authorization = match &proxy.authorization {
        Some(value) => format!("Proxy-Authorization: {value}\r\n"),
        None => String::new(),
    };
    let request =
        format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n{authorization}\r\n");
    stream.write_all(request.as_bytes()).await?;
    stream.flush().await?;
    let head = read_head(&mut stream).await?;
    match status(&head) {
        Some(code) if code.starts_with('2') => Ok(stream),
        _ => {
            let line = head.lines().next().unwrap_or_default();
            Err(io::Error::other(format!(
                "the proxy {proxy} refused to connect to {authority}: {line:?}"
            )))
        }
    }
}

/// Reads the head of the response. The bytes after it belong to the tunnel.
async fn read_head(stream: &mut Box<dyn ByteStream>) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= MAX_HEAD {
            return Err(io::Error::other("the response of the proxy is too long"));
        }
        head.push(stream.read_u8().await?);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

/// The status code of a response such as `HTTP/1.1 200 Connection established`.
fn status(head: &str) -> Option<&str> {
    let rest = head.strip_prefix("HTTP/1.")?;
    rest.split([' ', '\r'])
        .nth(1)
        .filter(|code| code.len() == 3)
}
