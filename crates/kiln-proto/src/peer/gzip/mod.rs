//! Messages compressed with gzip, as gRPC defines it: every message has a flag, and a header names the encoding.
//!
//! A message is decompressed only as far as a limit allows, however small it was on the wire.

#[cfg(test)]
mod tests;

use std::io::{self, Read as _, Write as _};

use bytes::Bytes;
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use http::{HeaderMap, HeaderName, HeaderValue};
use http_body::Frame;
use http_body_util::BodyExt as _;
use tokio::task::spawn_blocking;
use tonic::body::Body;

use super::frames::FramesThenBody;

/// Smaller messages are not compressed.
pub const MIN_SIZE: usize = 64 * 1024;

pub const ENCODING: &str = "gzip";

/// Lists the encodings that the sender of the header understands.
pub const ACCEPT_ENCODING: HeaderName = HeaderName::from_static("grpc-accept-encoding");

/// Names the encoding of messages with the flag.
const MESSAGE_ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");

/// The flag, and four bytes with the size of the message.
pub const HEAD: usize = 5;

const PLAIN: u8 = 0;
const COMPRESSED: u8 = 1;

/// How much is decompressed at a time.
const STEP: usize = 16 * 1024;

/// Why a message cannot be decompressed.
#[derive(Debug, thiserror::Error)]
pub enum DecompressError<E> {
    #[error("the message is not valid gzip")]
    Invalid(#[source] io::Error),
    #[error("the message has more than {limit} bytes when decompressed")]
    TooLarge { limit: usize },
    /// There is no memory for it.
    #[error("there is no memory for the decompressed message")]
    NoMemory(E),
}

/// Whether a header lists gzip.
pub(super) fn is_accepted(headers: &HeaderMap) -> bool {
    let values = headers.get_all(ACCEPT_ENCODING);
    let values = values.iter().filter_map(|value| value.to_str().ok());
    let mut names = values.flat_map(|value| value.split(','));
    names.any(|name| name.trim() == ENCODING)
}

/// Removes the header for gzip, and returns whether there was one. A message with the flag is compressed then.
pub fn take_encoding(headers: &mut HeaderMap) -> bool {
    let is_gzip = headers
        .get(MESSAGE_ENCODING)
        .is_some_and(|value| value == ENCODING);
    if is_gzip {
        headers.remove(MESSAGE_ENCODING);
    }
    is_gzip
}

/// Whether a message with its head has the flag.
pub fn is_compressed(message: &[u8]) -> bool {
    message.first() == Some(&COMPRESSED)
}

/// Compresses the message at the beginning of a body if it is large and arrives whole, and adds the header of the encoding.
/// Returns the size of the compressed message.
pub async fn compress_body(headers: &mut HeaderMap, mut body: Body) -> (Body, Option<usize>) {
    let Some(first) = body.frame().await else {
        return (body, None);
    };
    let data = match first.map(Frame::into_data) {
        Ok(Ok(data)) => data,
        Ok(Err(other)) => return (FramesThenBody::body([Ok(other)], body), None),
        Err(error) => return (FramesThenBody::body([Err(error)], body), None),
    };
    let compressed = match is_large_and_whole(&data) {
        true => {
            let message = data.clone();
            let work = spawn_blocking(move || compress(&message));
            // A thread that cannot be had means only that the message stays as it is.
            work.await.ok().flatten()
        }
        false => None,
    };
    let size = compressed.as_ref().map(Bytes::len);
    if size.is_some() {
        headers.insert(MESSAGE_ENCODING, HeaderValue::from_static(ENCODING));
    }
    let frame = Frame::data(compressed.unwrap_or(data));
    (FramesThenBody::body([Ok(frame)], body), size)
}

/// Whether data is one message with its head, and large enough.
fn is_large_and_whole(data: &[u8]) -> bool {
    let Some((head, message)) = data.split_first_chunk::<HEAD>() else {
        return false;
    };
    let [flag, size @ ..] = *head;
    flag == PLAIN && message.len() > MIN_SIZE && u32::from_be_bytes(size) as usize == message.len()
}

/// Compresses a message with its head; `None` if that does not make it smaller.
pub fn compress(message: &[u8]) -> Option<Bytes> {
    let (_, plain) = message.split_first_chunk::<HEAD>()?;
    let mut encoder = GzEncoder::new(vec![0; HEAD], Compression::fast());
    // Writing to memory cannot fail.
    encoder.write_all(plain).ok()?;
    let compressed = with_head(COMPRESSED, encoder.finish().ok()?)?;
    (compressed.len() < message.len()).then(|| compressed.into())
}

/// Decompresses a message with its head. `charge` is called with the number of bytes before memory is taken.
pub fn decompress<E>(
    message: &[u8],
    limit: usize,
    mut charge: impl FnMut(usize) -> Result<(), E>,
) -> Result<Bytes, DecompressError<E>> {
    let compressed = message.get(HEAD..).unwrap_or_default();
    let mut decoder = MultiGzDecoder::new(compressed);
    let mut plain = vec![0; HEAD];
    let mut step = vec![0; STEP];
    loop {
        let length = match decoder.read(&mut step) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(DecompressError::Invalid(error)),
        };
        let needed = plain.len() + length;
        if needed - HEAD > limit {
            return Err(DecompressError::TooLarge { limit });
        }
        if needed > plain.capacity() {
            let wanted = (2 * needed).min(limit.saturating_add(HEAD)).max(needed);
            charge(wanted).map_err(DecompressError::NoMemory)?;
            plain.reserve_exact(wanted - plain.len());
        }
        plain.extend(step.iter().take(length));
    }
    match with_head(PLAIN, plain) {
        Some(plain) => Ok(plain.into()),
        None => Err(DecompressError::TooLarge { limit }),
    }
}

/// Writes the head of a message into the space before it; `None` if the message is too large for a head.
fn with_head(flag: u8, mut message: Vec<u8>) -> Option<Vec<u8>> {
    let size = u32::try_from(message.len().checked_sub(HEAD)?).ok()?;
    let head = message.first_chunk_mut::<HEAD>()?;
    let [a, b, c, d] = size.to_be_bytes();
    *head = [flag, a, b, c, d];
    Some(message)
}
