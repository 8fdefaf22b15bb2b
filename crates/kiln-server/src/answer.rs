//! Responses: statuses that every client can receive, and memory that counts until the client has received it.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{HeaderMap, Response};
use http_body::Frame;
use kiln_proto::failure::{self, MAX_ROOM, ROOM_METADATA};
use tonic::Status;
use tonic::body::Body;

/// Responses are sent in pieces of this size. HTTP/2 keeps a piece until the client reads it, and takes the next when
/// there is room again: a client that does not read costs no more than a piece beyond what is charged.
const PIECE: usize = 32 * 1024;

/// Smaller statuses, encoded, fit every client and are not checked.
const SMALL_STATUS: usize = 2 * 1024;

/// How many bytes of details the caller accepts, if it announces it.
pub(crate) fn announced_room(headers: &HeaderMap) -> Option<usize> {
    let value = headers.get(ROOM_METADATA)?.to_str().ok()?;
    let room: usize = value.parse().ok()?;
    Some(room.min(MAX_ROOM))
}

/// The response with a status that its client can receive. `kept` is dropped when all of it has been sent.
pub(crate) fn fit(
    response: Response<Body>,
    room: Option<usize>,
    kept: impl Send + Unpin + 'static,
) -> Response<Body> {
    let (mut parts, body) = response.into_parts();
    fit_headers(&mut parts.headers, room);
    let body = AnswerBody {
        body,
        rest: Bytes::new(),
        room,
        _kept: kept,
    };
    Response::from_parts(parts, Body::new(body))
}

fn fit_headers(headers: &mut HeaderMap, room: Option<usize>) {
    let names = [Status::GRPC_MESSAGE, Status::GRPC_STATUS_DETAILS];
    let sizes = names
        .iter()
        .filter_map(|name| headers.get(name).map(|value| value.len()));
    if sizes.sum::<usize>() <= SMALL_STATUS {
        return;
    }
    let Some(status) = Status::from_header_map(headers) else {
        return;
    };
    let fitted = failure::fit(&status, room);
    for name in &names {
        headers.remove(name);
    }
    // A decoded header can be encoded again.
    let _ = fitted.add_header(headers);
}

/// The body of a response.
struct AnswerBody<T> {
    body: Body,
    /// Bytes of the body that are not sent yet.
    rest: Bytes,
    room: Option<usize>,
    _kept: T,
}

impl<T: Unpin> http_body::Body for AnswerBody<T> {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = self.get_mut();
        if this.rest.is_empty() {
            let mut frame = match ready!(Pin::new(&mut this.body).poll_frame(cx)) {
                Some(Ok(frame)) => frame,
                ended => return Poll::Ready(ended),
            };
            if let Some(trailers) = frame.trailers_mut() {
                fit_headers(trailers, this.room);
            }
            match frame.into_data() {
                Ok(data) => this.rest = data,
                Err(other) => return Poll::Ready(Some(Ok(other))),
            }
        }
        let piece = this.rest.split_to(this.rest.len().min(PIECE));
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }
}
