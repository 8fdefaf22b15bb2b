//! Failed functions as details of a gRPC status.
//!
//! A status travels in trailers, and peers limit those far below messages: Go's gRPC at 16 MiB, hyper at 16 KiB, gRPC's C core
//! (Python, C++, Ruby) at 8 KiB, proxies in between as they like. So a server fits a failure into what its client takes by
//! [`ROOM_METADATA`], and into [`DEFAULT_ROOM`] without it; [`fit`] keeps every status below the lowest of these limits for
//! clients that announce nothing. Peers that do not know the detail pass over it.

use std::borrow::Cow;

use bytes::Bytes;
use prost::Message as _;
use prost_types::Any;
use tonic::{Code, Status};
use tonic_types::pb;

use crate::FunctionFailure;
use crate::omit::{encoded_len, omit_middle, omit_middle_encoded};

/// The request metadata in which a client announces how many bytes of details it accepts, as a decimal number. Its own
/// limit of trailers must be half as much again (they are encoded in base64), and leave room for the text of the
/// status.
pub const ROOM_METADATA: &str = "kiln-failure-room";

/// Limit of details for a client that announces nothing, in bytes.
pub const DEFAULT_ROOM: usize = 8 * 1024;

/// Limit of details, whatever a client announces, in bytes.
pub const MAX_ROOM: usize = 8 * 1024 * 1024;

/// Limit of the text of a status as `grpc-message`, for any client, in bytes.
pub const MAX_ENCODED_MESSAGE: usize = 6 * 1024;

/// Limit of text and details together, encoded, for a client that announces nothing. The C core accepts 8 KiB of
/// trailers, including names and 32 bytes for each; the others (status, content type, date) need the rest.
const MAX_ENCODED_STATUS: usize = 7 * 1024 + 512;

/// Limit of a text in the details: it has to fit into what [`header_limit`](crate::transport::header_limit) leaves.
pub const MAX_WHOLE_MESSAGE: usize = 256 * 1024;

const TYPE_URL: &str = "type.googleapis.com/kiln.evaluator.v1.FunctionFailure";

impl FunctionFailure {
    /// The failure without its large parts, as far as needed to fit into `room`: first the output is dropped, then the
    /// middle of stderr, then the results.
    pub fn fitted(mut self, room: usize) -> FunctionFailure {
        if self.encoded_len() > room {
            self.output_omitted += self.output.len() as u64;
            self.output = Bytes::new();
        }
        let over = self.encoded_len().saturating_sub(room);
        if over > 0 {
            let keep = self.stderr.len().saturating_sub(over + 8) / 2;
            let omitted = self.stderr.len() - 2 * keep;
            let tail = self.stderr.len() - keep;
            let ends = [&self.stderr[..keep], &self.stderr[tail..]].concat();
            self.stderr = ends.into();
            self.stderr_omitted += omitted as u64;
        }
        if self.encoded_len() > room {
            self.results_omitted += self.results.len() as u64;
            self.results = Bytes::new();
        }
        self
    }
}

/// A status that carries a failure, cut to `room`.
pub fn to_status(code: Code, message: String, failure: FunctionFailure, room: usize) -> Status {
    let detail = Any {
        type_url: TYPE_URL.to_owned(),
        value: failure.fitted(room).encode_to_vec(),
    };
    with_details(code, message, vec![detail])
}

/// A status with any details, as `google.rpc.Status` carries them.
pub fn with_details(code: Code, message: String, details: Vec<Any>) -> Status {
    let whole = pb::Status {
        code: code as i32,
        message: message.clone(),
        details,
    };
    Status::with_details(code, message, whole.encode_to_vec().into())
}

/// A status that its client can receive. The text is cut to [`MAX_ENCODED_MESSAGE`]; the details hold the whole text
/// for a client that announced room. For a client that did not, text and details together stay below the limit of the C
/// core: the details lose their large parts, and are dropped if they still do not fit, because they repeat the text.
pub fn fit(status: &Status, announced_room: Option<usize>) -> Status {
    let message = whole_message(status);
    let cut = omit_middle_encoded(&message, MAX_ENCODED_MESSAGE);
    let takes_more = announced_room.is_some_and(|room| room > DEFAULT_ROOM);
    let details = match status.details() {
        [] if takes_more && *cut != *message => {
            let whole = pb::Status {
                code: status.code() as i32,
                message: omit_middle(&message, MAX_WHOLE_MESSAGE).into_owned(),
                details: Vec::new(),
            };
            whole.encode_to_vec()
        }
        [] => Vec::new(),
        details if takes_more => details.to_vec(),
        details => {
            let text: usize = cut.chars().map(encoded_len).sum();
            // Four bytes in base64 for every three.
            let room = MAX_ENCODED_STATUS.saturating_sub(text) / 4 * 3;
            fit_details(status.code(), details, &cut, room).unwrap_or_default()
        }
    };
    Status::with_details(status.code(), &*cut, details.into())
}

/// Details in at most `room` bytes, with `message` as their text; `None` if that is not possible.
fn fit_details(code: Code, details: &[u8], message: &str, room: usize) -> Option<Vec<u8>> {
    let mut whole = match pb::Status::decode(details) {
        Ok(whole) if whole.code == code as i32 => whole,
        // Details of an unknown kind.
        _ => return (details.len() <= room).then(|| details.to_vec()),
    };
    // Go's clients read the text from here.
    message.clone_into(&mut whole.message);
    let over = whole.encoded_len().saturating_sub(room);
    let failure = whole
        .details
        .iter_mut()
        .find(|any| any.type_url == TYPE_URL);
    if over > 0
        && let Some(any) = failure
        && let Ok(failure) = FunctionFailure::decode(any.value.as_slice())
    {
        // The encoding of lengths takes a few bytes more or less.
        let left = any.value.len().saturating_sub(over + 8);
        any.value = failure.fitted(left).encode_to_vec();
    }
    (whole.encoded_len() <= room).then(|| whole.encode_to_vec())
}

/// The text of a status before [`fit`] cut it, if the details have it.
pub fn whole_message(status: &Status) -> Cow<'_, str> {
    let whole = match status.details() {
        [] => None,
        details => pb::Status::decode(details).ok(),
    };
    match whole {
        Some(whole)
            if whole.code == status.code() as i32
                && whole.message.len() >= status.message().len() =>
        {
            Cow::Owned(whole.message)
        }
        _ => Cow::Borrowed(status.message()),
    }
}

/// The failure that a status carries, if it can be decoded.
pub fn from_status(status: &Status) -> Option<FunctionFailure> {
    let whole = pb::Status::decode(status.details()).ok()?;
    let detail = whole.details.iter().find(|any| any.type_url == TYPE_URL)?;
    FunctionFailure::decode(detail.value.as_slice()).ok()
}

#[cfg(test)]
mod tests;
