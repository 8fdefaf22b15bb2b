//! Requests as they come in: not too large, and not too slowly.
//!
//! A gRPC message says its size first, so one that is too large is refused before it is read. One that stops coming is
//! refused after a while; neither has a place among the calls by then.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep};
use tonic::Status;

use crate::held::{Held, Store};
use crate::status;

/// How long a request may send nothing before it is whole.
const MAX_SILENCE: Duration = Duration::from_secs(30);

/// One byte that says whether a message is compressed, and four with its size.
const HEAD: usize = 5;

/// The body of a request with one message.
pub(crate) struct LimitedBody<B> {
    body: B,
    limit: usize,
    head: [u8; HEAD],
    received: usize,
    /// Where the bytes of the message are taken from, until they are.
    store: Option<(Store, Held)>,
    silence: Option<Pin<Box<Sleep>>>,
}

impl<B> LimitedBody<B> {
    pub(crate) fn new(body: B, limit: usize) -> LimitedBody<B> {
        LimitedBody {
            body,
            limit,
            head: [0; HEAD],
            received: 0,
            store: None,
            silence: None,
        }
    }

    /// Takes the bytes of the message from a store before it comes.
    pub(crate) fn taking_from(mut self, store: Store, held: Held) -> LimitedBody<B> {
        self.store = Some((store, held));
        self
    }

    /// Looks at what has come.
    fn receive(&mut self, data: &Bytes) -> Result<(), Status> {
        let before = self.received.min(HEAD);
        let missing = self.head.iter_mut().skip(before);
        for (place, byte) in missing.zip(data.iter()) {
            *place = *byte;
        }
        self.received = self.received.saturating_add(data.len());
        if self.received < HEAD {
            return Ok(());
        }
        let [_, size @ ..] = self.head;
        let size = u32::from_be_bytes(size) as usize;
        if size > self.limit {
            return Err(status::request_too_large(size, self.limit));
        }
        if self.received - HEAD > self.limit {
            return Err(status::request_too_large(self.received - HEAD, self.limit));
        }
        if let Some((store, held)) = self.store.take()
            && !store.take(size, &held)
        {
            return Err(status::no_memory(size));
        }
        Ok(())
    }

    fn poll_silence(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let silence = self
            .silence
            .get_or_insert_with(|| Box::pin(sleep(MAX_SILENCE)));
        silence.as_mut().poll(cx)
    }
}

impl<B> Body for LimitedBody<B>
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
                if let Some(silence) = &mut this.silence {
                    silence.as_mut().reset(Instant::now() + MAX_SILENCE);
                }
                let received = frame.data_ref().map(|data| this.receive(data));
                Poll::Ready(Some(received.unwrap_or(Ok(())).map(|()| frame)))
            }
            Poll::Ready(Some(Err(error))) => {
                Poll::Ready(Some(Err(Status::from_error(error.into()))))
            }
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => match this.poll_silence(cx) {
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
