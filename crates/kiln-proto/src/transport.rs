//! Properties of the transport that both kinds of clients need.

use std::error::Error;
use std::time::Duration;

use tonic::transport::Endpoint;
use tonic::{ConnectError, Status};

use crate::failure::MAX_ROOM;

/// Servers in Go close connections of clients that send HTTP/2 pings more often.
const PING_INTERVAL: Duration = Duration::from_secs(5 * 60 + 10);
const PING_TIMEOUT: Duration = Duration::from_secs(20);

/// TCP keep-alive probes, which no server limits, detect a dead peer sooner.
const PROBE_AFTER: Duration = Duration::from_secs(20);
const PROBES: u32 = 3;

/// The settings of all connections: keep-alive, and headers large enough for failures.
pub fn configure(
    endpoint: Endpoint,
    probe_interval: Duration,
    max_message_size: usize,
) -> Endpoint {
    endpoint
        .tcp_nodelay(true)
        .tcp_keepalive(Some(PROBE_AFTER))
        .tcp_keepalive_interval(Some(probe_interval))
        .tcp_keepalive_retries(Some(PROBES))
        .http2_keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT)
        .http2_max_header_list_size(header_limit(max_message_size))
}

/// Whether a call that failed with this status certainly did not reach the server.
pub fn was_not_sent(status: &Status) -> bool {
    causes(status).any(|cause| {
        let is_unsent = |error: &hyper::Error| error.is_canceled();
        cause.is::<ConnectError>() || cause.downcast_ref().is_some_and(is_unsent)
    })
}

/// Whether the server has reported that it did not start a call that failed with this status: it refused the stream, or
/// it is closing the connection and named an earlier stream as the last that it handles. (Streams up to that one fail
/// because the connection ends, not because of that message.)
pub fn was_not_begun(status: &Status) -> bool {
    causes(status).any(|cause| {
        let is_refused = |error: &h2::Error| {
            let is_reset = error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
            error.is_remote() && (is_reset || error.is_go_away())
        };
        cause.downcast_ref().is_some_and(is_refused)
    })
}

/// A status and its chain of sources.
pub fn causes(status: &Status) -> impl Iterator<Item = &(dyn Error + 'static)> {
    let first: &(dyn Error + 'static) = status;
    std::iter::successors(Some(first), |&error| error.source())
}

/// How many bytes of a failure a client accepts; trailers carry it, and their limit is [`header_limit`].
pub fn room(max_message_size: usize) -> usize {
    max_message_size.min(MAX_ROOM)
}

/// Half as much again for the encoding, and a megabyte for the text of the status.
pub fn header_limit(max_message_size: usize) -> u32 {
    let room = room(max_message_size);
    u32::try_from(room + room / 2 + (1 << 20)).unwrap_or(u32::MAX)
}
