//! What both kinds of clients of the protocol have to know of its transport.

use std::error::Error;

use tonic::{ConnectError, Status};

use crate::failure::MAX_ROOM;

/// Whether the server certainly knows nothing of a call that failed like this.
pub fn was_not_sent(status: &Status) -> bool {
    causes(status).any(|cause| {
        let is_unsent = |error: &hyper::Error| error.is_canceled();
        cause.is::<ConnectError>() || cause.downcast_ref().is_some_and(is_unsent)
    })
}

/// Whether the server has said that it did nothing about a call that failed like this, and will not: it refused the stream,
/// or it is closing the connection and named an earlier stream as the last that it looks at. (Streams up to that one fail by
/// the end of the connection, not by what was said before.)
pub fn was_not_begun(status: &Status) -> bool {
    causes(status).any(|cause| {
        let is_refused = |error: &h2::Error| {
            let is_reset = error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
            error.is_remote() && (is_reset || error.is_go_away())
        };
        cause.downcast_ref().is_some_and(is_refused)
    })
}

/// A status and everything that is behind it.
pub fn causes(status: &Status) -> impl Iterator<Item = &(dyn Error + 'static)> {
    let first: &(dyn Error + 'static) = status;
    std::iter::successors(Some(first), |&error| error.source())
}

/// How many bytes of a failure a client takes; it travels in trailers, whose limit is [`header_limit`].
pub fn room(max_message_size: usize) -> usize {
    max_message_size.min(MAX_ROOM)
}

/// Half as much again for the encoding, and a megabyte for the text of the status.
pub fn header_limit(max_message_size: usize) -> u32 {
    let room = room(max_message_size);
    u32::try_from(room + room / 2 + (1 << 20)).unwrap_or(u32::MAX)
}
