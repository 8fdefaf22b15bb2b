//! Failed functions as details of a gRPC status.
//!
//! A status travels in trailers, and peers limit those far below messages: Go's gRPC at 16 MiB, hyper at 16 KiB, proxies in
//! between as they like. So a server fits a failure into what its client says it takes ([`ROOM_METADATA`]), and into
//! [`DEFAULT_ROOM`] if it says nothing. Peers that do not know the detail pass over it.

use bytes::Bytes;
use prost::Message as _;
use prost_types::Any;
use tonic::{Code, Status};
use tonic_types::pb;

use crate::FunctionFailure;

/// The request metadata by which a client says how many bytes of details it takes, as a decimal number. Its own limit
/// of trailers must be half as much again (they travel in base64), and leave room for the text of the status.
pub const ROOM_METADATA: &str = "kiln-failure-room";

/// How many bytes of details a client gets that does not say what it takes.
pub const DEFAULT_ROOM: usize = 8 * 1024;

/// How many bytes of details a client gets at most, whatever it asks for.
pub const MAX_ROOM: usize = 8 * 1024 * 1024;

const TYPE_URL: &str = "type.googleapis.com/kiln.evaluator.v1.FunctionFailure";

impl FunctionFailure {
    /// The failure with its large parts left out as far as it takes to make it no larger than `room`: the output first,
    /// then the middle of what was printed, then the results.
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

/// The failure that a status carries; none if it carries none that can be read.
pub fn from_status(status: &Status) -> Option<FunctionFailure> {
    let whole = pb::Status::decode(status.details()).ok()?;
    let detail = whole.details.iter().find(|any| any.type_url == TYPE_URL)?;
    FunctionFailure::decode(detail.value.as_slice()).ok()
}

#[cfg(test)]
mod tests;
