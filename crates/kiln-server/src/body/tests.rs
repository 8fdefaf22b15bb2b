//! Requests that are too large, arrive in pieces, or do not arrive.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame};
use tokio::time::{Instant, Sleep, sleep};
use tonic::{Code, Status};

use super::{HEAD, MAX_SILENCE, MIN_RATE, ReceiveError, RequestLimits, receive};
use crate::memory::{MemoryAccount, MemoryCharge, MemoryPools};

/// Pieces that are available, and then nothing.
struct Pieces(VecDeque<Bytes>);

impl Body for Pieces {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        match self.0.pop_front() {
            Some(piece) => Poll::Ready(Some(Ok(Frame::data(piece)))),
            None => Poll::Pending,
        }
    }
}

/// The result of receiving pieces.
async fn received(pieces: &[&[u8]], limit: usize) -> Status {
    let pieces = pieces.iter().map(|piece| Bytes::copy_from_slice(piece));
    let limits = RequestLimits {
        size: limit,
        timeout: Duration::from_secs(40),
    };
    let received = receive(Pieces(pieces.collect()), &limits, None).await;
    refused(received)
}

#[track_caller]
fn refused(received: Result<Bytes, ReceiveError>) -> Status {
    match received {
        Err(ReceiveError::Refused(status)) => status,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_stalls_is_refused_after_a_while() {
    let start = tokio::time::Instant::now();
    let status = received(&[b"\0\0\0\0\x09", b"abc"], 100).await;
    assert_eq!(status.code(), Code::DeadlineExceeded);
    assert_eq!(
        status.message(),
        "no data of the request for 30s, and it is incomplete"
    );
    assert!(start.elapsed() >= MAX_SILENCE);
}

#[tokio::test(start_paused = true)]
async fn a_size_over_the_limit_is_refused_before_the_message_comes() {
    for pieces in [
        &[&b"\0\0\0\0\x65"[..]][..],
        &[b"\0", b"\0\0", b"\0\x65"],
        &[b"\0\0\0\0\x65abc"],
    ] {
        let start = tokio::time::Instant::now();
        let status = received(pieces, 100).await;
        assert_eq!(status.code(), Code::ResourceExhausted);
        assert!(
            status
                .message()
                .starts_with("the request has 101 bytes, more than the limit of 100 bytes;")
        );
        assert!(start.elapsed().is_zero());
    }
}

#[tokio::test(start_paused = true)]
async fn what_follows_the_message_counts_too() {
    let status = received(&[b"\0\0\0\0\x01a", &[0; 100]], 100).await;
    assert_eq!(status.code(), Code::ResourceExhausted);
    let status = received(&[b"\0\0\0\0\x01a", b"b"], 100).await;
    assert_eq!(status.code(), Code::InvalidArgument);
}

/// One byte at a time, and the end after all of them.
struct Trickle {
    left: VecDeque<u8>,
    pause: Duration,
    next: Pin<Box<Sleep>>,
}

impl Trickle {
    fn new(bytes: Vec<u8>, pause: Duration) -> Trickle {
        Trickle {
            left: bytes.into(),
            pause,
            next: Box::pin(sleep(pause)),
        }
    }
}

impl Body for Trickle {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if self.next.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        let pause = self.pause;
        self.next.as_mut().reset(Instant::now() + pause);
        let byte = self.left.pop_front();
        Poll::Ready(byte.map(|byte| Ok(Frame::data(Bytes::copy_from_slice(&[byte])))))
    }
}

/// A message of `size` bytes with its head.
fn message(size: u32) -> Vec<u8> {
    let head = [&[0][..], &size.to_be_bytes()].concat();
    [head, vec![b'x'; size as usize]].concat()
}

#[tokio::test(start_paused = true)]
async fn a_request_must_be_complete_in_a_time_that_depends_on_its_size() {
    let limits = RequestLimits {
        size: 10 * MIN_RATE,
        timeout: Duration::from_secs(30),
    };
    let fast = Trickle::new(message(1000), Duration::from_millis(29));
    let got = receive(fast, &limits, None).await.expect("a message");
    assert_eq!(got, message(1000));
    let start = Instant::now();
    let slow = Trickle::new(message(4 * MIN_RATE as u32), Duration::from_secs(5));
    let status = refused(receive(slow, &limits, None).await);
    assert_eq!(status.code(), Code::DeadlineExceeded);
    assert_eq!(
        status.message(),
        "the request was incomplete after 34s: 6 bytes had arrived; \
         --request-timeout limits how long a request may take to arrive"
    );
    assert!(start.elapsed() >= Duration::from_secs(30));
}

#[tokio::test(start_paused = true)]
async fn memory_is_taken_for_what_has_arrived() {
    const MIB: usize = 1024 * 1024;
    let memory_pools = MemoryPools::new(64 * MIB, 6 * MIB);
    let peer: Arc<MemoryAccount> = Arc::default();
    let charge = || MemoryCharge::new(Arc::clone(&memory_pools), Arc::default(), Arc::clone(&peer));
    let limits = RequestLimits {
        size: 6 * MIB,
        timeout: Duration::from_secs(30),
    };
    let announced = u32::try_from(6 * MIB).expect("a size").to_be_bytes();
    let begin = || {
        let mut charge = charge();
        let head = Bytes::from([&[0][..], &announced, b"x"].concat());
        tokio::spawn(async move {
            let body = Pieces(VecDeque::from([head]));
            receive(body, &limits, Some(&mut charge)).await
        })
    };
    let slow: Vec<_> = (0..400).map(|_| begin()).collect();
    tokio::task::yield_now().await;
    // They announce 2.4 GB together, and this one still fits.
    let mut charge = charge();
    let whole = message(MIB as u32);
    let pieces = whole.chunks(16_384).map(Bytes::copy_from_slice).collect();
    let got = receive(Ended(Pieces(pieces)), &limits, Some(&mut charge)).await;
    assert_eq!(got.expect("a message").len(), MIB + HEAD);
    assert!(slow.iter().all(|slow| !slow.is_finished()));
}

#[tokio::test(start_paused = true)]
async fn a_request_in_pieces_of_any_size_is_put_together() {
    for (size, piece) in [
        (0, 1),
        (1, 1),
        (10, 3),
        (100_000, 1),
        (100_000, 16_384),
        (5, 100),
    ] {
        let whole = message(size);
        let pieces = whole.chunks(piece).map(Bytes::copy_from_slice).collect();
        let limits = RequestLimits {
            size: 100_000,
            timeout: Duration::from_secs(30),
        };
        let body = Ended(Pieces(pieces));
        let got = receive(body, &limits, None).await.expect("a message");
        assert_eq!(got, whole, "{size} {piece}");
    }
}

/// Pieces, and then the end.
struct Ended(Pieces);

impl Body for Ended {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let piece = self.0.0.pop_front();
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }
}
