//! The frames between the server and a worker: a small head, and the list unchanged.
//!
//! A frame is the length of the head (4 bytes), the length of the body (8 bytes), both little-endian, the head as a
//! protobuf message and the body. The list is the body, so it is neither encoded nor copied again.

use std::io::{self, IoSlice, Read, Write};

use bytes::{Buf as _, Bytes, BytesMut};
use prost::Message;
use tokio::io::{AsyncRead, AsyncReadExt as _};

pub(super) const PREFIX: usize = 12;

/// Maximum size of a head without stderr of the function.
const MAX_HEAD: usize = 16 * 1024 * 1024;

/// A call.
#[derive(Clone, PartialEq, Message)]
pub(super) struct RequestHead {
    /// As the caller sent it, for messages.
    #[prost(string, tag = "1")]
    pub(super) image: String,
    /// The image by which the worker finds the function.
    #[prost(string, tag = "2")]
    pub(super) worker_image: String,
    #[prost(uint64, optional, tag = "3")]
    pub(super) timeout_micros: Option<u64>,
    /// The caller's timeout, for messages.
    #[prost(uint64, tag = "4")]
    pub(super) given_micros: u64,
    #[prost(uint64, tag = "5")]
    pub(super) max_output: u64,
    #[prost(uint64, tag = "6")]
    pub(super) max_message_size: u64,
    #[prost(uint64, tag = "7")]
    pub(super) room: u64,
}

/// The response to a call, or the first message of a worker that is ready.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ResponseHead {
    #[prost(int32, optional, tag = "1")]
    pub(super) exit_code: Option<i32>,
    /// A gRPC status code; 0 means that the body is a list.
    #[prost(int32, tag = "2")]
    pub(super) code: i32,
    #[prost(string, tag = "3")]
    pub(super) message: String,
    #[prost(bytes = "bytes", tag = "4")]
    pub(super) details: Bytes,
    #[prost(bytes = "bytes", tag = "5")]
    pub(super) log: Bytes,
    /// A message for the log.
    #[prost(string, tag = "6")]
    pub(super) warning: String,
    /// The worker exits after this response, because the function panicked.
    #[prost(bool, tag = "7")]
    pub(super) ends: bool,
    /// What exactly ran; empty if it is not known.
    #[prost(string, tag = "8")]
    pub(super) identity: String,
}

/// Encodes the lengths and the head of a frame.
pub(super) fn encode(head: &impl Message, body: usize) -> Bytes {
    let length = head.encoded_len();
    let mut bytes = BytesMut::with_capacity(PREFIX + length);
    bytes.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
    bytes.extend_from_slice(&(body as u64).to_le_bytes());
    // The buffer grows as needed, so this cannot fail.
    let _ = head.encode(&mut bytes);
    bytes.freeze()
}

/// The lengths at the beginning of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Lengths {
    pub(super) head: usize,
    pub(super) body: usize,
}

impl Lengths {
    /// Decodes the lengths; `None` if there are too few bytes. `max_body` limits the body, and the head beyond its own
    /// limit.
    pub(super) fn decode(mut bytes: &[u8], max_body: usize) -> io::Result<Option<Lengths>> {
        if bytes.len() < PREFIX {
            return Ok(None);
        }
        let head = bytes.get_u32_le() as usize;
        let body = usize::try_from(bytes.get_u64_le()).unwrap_or(usize::MAX);
        let max_head = MAX_HEAD.saturating_add(max_body);
        if head > max_head || body > max_body {
            let text = format!("a frame of {head} and {body} bytes is too large");
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        Ok(Some(Lengths { head, body }))
    }

    pub(super) fn total(self) -> usize {
        PREFIX.saturating_add(self.head).saturating_add(self.body)
    }
}

/// Decodes a complete frame.
pub(super) fn decode<M: Message + Default>(
    frame: &mut BytesMut,
    lengths: Lengths,
) -> io::Result<(M, Bytes)> {
    frame.advance(PREFIX);
    let head = frame.split_to(lengths.head).freeze();
    let body = frame.split_to(lengths.body).freeze();
    let head = M::decode(head);
    let head = head.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    Ok((head, body))
}

/// Reads a frame and blocks until it is complete; `None` at the end of the stream.
pub(super) fn read<M: Message + Default>(mut from: impl Read) -> io::Result<Option<(M, Bytes)>> {
    let mut prefix = [0; PREFIX];
    if let Err(error) = from.read_exact(&mut prefix) {
        return match error.kind() {
            io::ErrorKind::UnexpectedEof => Ok(None),
            _ => Err(error),
        };
    }
    let Some(lengths) = Lengths::decode(&prefix, usize::MAX)? else {
        return Ok(None);
    };
    let rest = lengths.total() - PREFIX;
    let mut bytes = Vec::with_capacity(rest);
    // Does not fill the buffer with zeros first, as reading into a slice would.
    if from.take(rest as u64).read_to_end(&mut bytes)? < rest {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut bytes = Bytes::from(bytes);
    let head = M::decode(bytes.split_to(lengths.head));
    let head = head.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    Ok(Some((head, bytes)))
}

/// Writes a frame. One that fits the buffer of the socket takes one system call, and wakes the reader once.
pub(super) fn write(mut to: impl Write, head: &impl Message, body: &[u8]) -> io::Result<()> {
    let head = encode(head, body.len());
    let mut slices = [IoSlice::new(&head), IoSlice::new(body)];
    let mut slices = &mut slices[..];
    while !slices.is_empty() {
        match to.write_vectored(slices) {
            Ok(0) if slices.iter().all(|slice| slice.is_empty()) => break,
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut slices, written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The part of the next frames that has arrived.
#[derive(Debug, Default)]
pub(super) struct FrameBuffer {
    bytes: BytesMut,
}

/// Size of reads while the size of a frame is unknown.
const READ: usize = 16 * 1024;

impl FrameBuffer {
    /// Waits for a complete frame with a body of at most `max_body` bytes. The future is cancel-safe.
    pub(super) async fn next<M: Message + Default>(
        &mut self,
        from: &mut (impl AsyncRead + Unpin),
        max_body: usize,
    ) -> io::Result<(M, Bytes)> {
        loop {
            let arrived = self.bytes.len();
            let missing = match Lengths::decode(&self.bytes, max_body)? {
                Some(lengths) if arrived >= lengths.total() => {
                    return decode(&mut self.bytes, lengths);
                }
                Some(lengths) => lengths.total() - arrived,
                None => READ,
            };
            // The capacity doubles: what a frame announces takes no memory before it arrives.
            self.bytes.reserve(missing.min(arrived.max(READ)));
            if from.read_buf(&mut self.bytes).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

#[cfg(test)]
mod tests;
