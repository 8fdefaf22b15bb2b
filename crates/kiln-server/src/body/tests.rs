//! Requests that are too large, in pieces, or do not come.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame};
use tonic::{Code, Status};

use super::{LimitedBody, MAX_SILENCE};

/// Pieces that are there, and then nothing for ever.
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

/// How many pieces pass before the body ends, and with what.
async fn receive(pieces: &[&[u8]], limit: usize) -> (usize, Status) {
    let pieces = pieces.iter().map(|piece| Bytes::copy_from_slice(piece));
    let mut body = LimitedBody::new(Pieces(pieces.collect()), limit);
    let mut passed = 0;
    loop {
        match poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
            Some(Ok(_)) => passed += 1,
            Some(Err(status)) => return (passed, status),
            None => panic!("it has no end"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_stops_coming_is_refused_after_a_while() {
    let start = tokio::time::Instant::now();
    let (passed, status) = receive(&[b"\0\0\0\0\x09", b"abc"], 100).await;
    assert_eq!((passed, status.code()), (2, Code::DeadlineExceeded));
    assert_eq!(
        status.message(),
        "the request stopped coming for 30s before it was whole"
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
        let (passed, status) = receive(pieces, 100).await;
        assert_eq!(
            (passed, status.code()),
            (pieces.len() - 1, Code::ResourceExhausted)
        );
        assert!(
            status
                .message()
                .starts_with("the request has 101 bytes, more than the limit of 100 bytes;")
        );
    }
}

#[tokio::test(start_paused = true)]
async fn what_follows_the_message_counts_too() {
    let (passed, status) = receive(&[b"\0\0\0\0\x01a", &[0; 100]], 100).await;
    assert_eq!((passed, status.code()), (1, Code::ResourceExhausted));
}
