//! A body some of whose frames were taken out and come first again.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::Frame;
use tonic::Status;
use tonic::body::Body;

pub(super) type FrameResult = Result<Frame<Bytes>, Status>;

/// Frames, and then those of another body.
pub(super) struct FramesThenBody {
    frames: VecDeque<FrameResult>,
    rest: Body,
}

impl FramesThenBody {
    pub(super) fn body(frames: impl IntoIterator<Item = FrameResult>, rest: Body) -> Body {
        Body::new(FramesThenBody {
            frames: frames.into_iter().collect(),
            rest,
        })
    }
}

impl http_body::Body for FramesThenBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = self.get_mut();
        match this.frames.pop_front() {
            Some(frame) => Poll::Ready(Some(frame)),
            None => Pin::new(&mut this.rest).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.frames.is_empty() && self.rest.is_end_stream()
    }
}
