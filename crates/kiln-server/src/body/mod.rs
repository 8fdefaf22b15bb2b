//! Receives requests: limits their size, their time and their memory.
//!
//! A gRPC message begins with its size, so one that is too large is refused before it is read. Memory is charged in
//! steps for what has arrived, whatever size was announced. A request must be complete in a time that depends on its
//! size, and may not pause for long. No call starts before its request is complete.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use kiln_proto::peer::gzip::{self, DecompressError, HEAD};
use tokio::time::{Instant, Sleep, sleep, timeout_at};
use tonic::Status;

use crate::memory::MemoryCharge;
use crate::status;

/// How long a request may pause.
const MAX_SILENCE: Duration = Duration::from_secs(30);

/// The minimum average rate of a message, in bytes per second, besides the fixed time of every message.
pub(crate) const MIN_RATE: usize = 64 * 1024;

/// Memory is charged in steps of at least this many bytes.
const STEP: usize = 16 * 1024;

/// The charge of the smallest request.
const MIN_CHARGE: usize = 1024;

#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestLimits {
    /// Maximum size of its message.
    pub(crate) size: usize,
    /// Maximum time, besides a second for every [`MIN_RATE`] bytes.
    pub(crate) timeout: Duration,
}

impl RequestLimits {
    /// Maximum time to transfer a message of `size` bytes, in either direction.
    pub(crate) fn time_for(&self, size: usize) -> Duration {
        let at_min_rate = Duration::from_secs((size / MIN_RATE) as u64);
        self.timeout.saturating_add(at_min_rate)
    }
}

/// Why there is no message.
#[derive(Debug)]
pub(crate) enum ReceiveError {
    /// The request exceeds a limit, or there is no memory for it.
    Refused(Status),
    /// The stream failed before the request was complete.
    Broken(Status),
}

impl From<Status> for ReceiveError {
    fn from(status: Status) -> ReceiveError {
        ReceiveError::Refused(status)
    }
}

/// The only message of a request with its head, once it is complete. What has arrived is charged to `charge`.
pub(crate) async fn receive<B>(
    mut body: B,
    limits: &RequestLimits,
    mut charge: Option<&mut MemoryCharge>,
) -> Result<Bytes, ReceiveError>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let begun = Instant::now();
    let mut arriving = PartialMessage::default();
    loop {
        if body.is_end_stream() {
            return Ok(arriving.into_bytes());
        }
        let time = limits.time_for(arriving.size().unwrap_or(0));
        let slow_at = begun.checked_add(time);
        let silent_at = Instant::now() + MAX_SILENCE;
        let until = slow_at.map_or(silent_at, |slow_at| slow_at.min(silent_at));
        let frame = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx));
        let Ok(frame) = timeout_at(until, frame).await else {
            let status = match until == silent_at {
                true => status::request_stalled(MAX_SILENCE),
                false => status::request_slow(arriving.len(), time),
            };
            return Err(ReceiveError::Refused(status));
        };
        match frame {
            None => return Ok(arriving.into_bytes()),
            Some(Err(error)) => {
                return Err(ReceiveError::Broken(Status::from_error(error.into())));
            }
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    arriving.push(data, limits.size, charge.as_deref_mut())?;
                }
            }
        }
    }
}

/// The part of a message that has arrived.
#[derive(Debug, Default)]
struct PartialMessage {
    /// The only piece so far, which is often the whole message; `None` if all pieces are in `bytes`.
    first: Option<Bytes>,
    bytes: Vec<u8>,
    is_announced: bool,
}

impl PartialMessage {
    fn so_far(&self) -> &[u8] {
        match &self.first {
            Some(first) => first,
            None => &self.bytes,
        }
    }

    fn len(&self) -> usize {
        self.so_far().len()
    }

    /// The size that the message announces.
    fn size(&self) -> Option<usize> {
        let (head, _) = self.so_far().split_first_chunk::<HEAD>()?;
        let [_, size @ ..] = *head;
        Some(u32::from_be_bytes(size) as usize)
    }

    fn push(
        &mut self,
        data: Bytes,
        limit: usize,
        charge: Option<&mut MemoryCharge>,
    ) -> Result<(), Status> {
        if data.is_empty() {
            return Ok(());
        }
        if self.first.is_none() && self.bytes.is_empty() {
            self.first = Some(data);
        } else {
            if let Some(first) = self.first.take() {
                self.bytes = first.to_vec();
            }
            self.append(&data);
        }
        let Some(size) = self.size() else {
            return Ok(());
        };
        let message = self.len() - HEAD;
        if size > limit || message > limit {
            return Err(status::request_too_large(size.max(message), limit));
        }
        if message > size {
            return Err(status::more_than_one_message());
        }
        let Some(charge) = charge else {
            return Ok(());
        };
        if !self.is_announced && !charge.would_fit(size) {
            return Err(status::no_memory(size));
        }
        self.is_announced = true;
        let charged = self.bytes.capacity().max(self.len()).max(MIN_CHARGE);
        charge
            .grow(charged, size)
            .map_err(|_| status::no_memory(size))
    }

    /// Adds a piece. The capacity doubles until the whole message fits.
    fn append(&mut self, data: &[u8]) {
        let needed = self.bytes.len() + data.len();
        if needed > self.bytes.capacity() {
            let whole = self.size().map_or(needed, |size| size.saturating_add(HEAD));
            let wanted = (2 * needed).max(STEP).min(whole).max(needed);
            self.bytes.reserve_exact(wanted - self.bytes.len());
        }
        self.bytes.extend_from_slice(data);
    }

    fn into_bytes(self) -> Bytes {
        self.first.unwrap_or_else(|| self.bytes.into())
    }
}

/// A message that arrived compressed, with its charge. What it takes when decompressed is charged before it is there.
pub(crate) async fn decompress(
    message: Bytes,
    limit: usize,
    mut charge: MemoryCharge,
) -> Result<(Bytes, MemoryCharge), Status> {
    // If the client goes away meanwhile, the charge ends with the work.
    let work = move || {
        let compressed = message.len();
        let plain = gzip::decompress(&message, limit, |bytes| {
            let bytes = bytes.saturating_add(compressed);
            charge
                .grow(bytes, bytes)
                .map_err(|_| status::no_memory(bytes))
        })?;
        charge.replace(plain.len().max(MIN_CHARGE));
        Ok((plain, charge))
    };
    let done = tokio::task::spawn_blocking(work).await;
    let done = done.map_err(|_| Status::internal("decompressing the request panicked"))?;
    done.map_err(|error: DecompressError<Status>| match error {
        DecompressError::Invalid(error) => {
            Status::invalid_argument(format!("the request is not valid gzip: {error}"))
        }
        DecompressError::TooLarge { limit } => {
            status::request_too_large(limit.saturating_add(1), limit)
        }
        DecompressError::NoMemory(status) => status,
    })
}

/// The body of a request that is complete.
#[derive(Debug)]
pub(crate) struct WholeBody(Option<Bytes>);

impl WholeBody {
    pub(crate) fn new(bytes: Bytes) -> WholeBody {
        WholeBody(Some(bytes).filter(|bytes| !bytes.is_empty()))
    }
}

impl Body for WholeBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }
}

/// The body of a request with any number of small messages, with limits on their total size and on pauses.
pub(crate) struct SmallMessages<B> {
    body: B,
    left: usize,
    limit: usize,
    silence: Pin<Box<Sleep>>,
}

impl<B> SmallMessages<B> {
    pub(crate) fn new(body: B, limit: usize) -> SmallMessages<B> {
        SmallMessages {
            body,
            left: limit,
            limit,
            silence: Box::pin(sleep(MAX_SILENCE)),
        }
    }
}

impl<B> Body for SmallMessages<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = self.get_mut();
        match Pin::new(&mut this.body).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                this.silence.as_mut().reset(Instant::now() + MAX_SILENCE);
                let size = frame.data_ref().map_or(0, Bytes::len);
                Poll::Ready(Some(match this.left.checked_sub(size) {
                    Some(left) => {
                        this.left = left;
                        Ok(frame)
                    }
                    None => Err(status::request_too_large(
                        this.limit - this.left + size,
                        this.limit,
                    )),
                }))
            }
            Poll::Ready(Some(Err(error))) => {
                Poll::Ready(Some(Err(Status::from_error(error.into()))))
            }
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => match this.silence.as_mut().poll(cx) {
                Poll::Ready(()) => Poll::Ready(Some(Err(status::request_stalled(MAX_SILENCE)))),
                Poll::Pending => Poll::Pending,
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests;
