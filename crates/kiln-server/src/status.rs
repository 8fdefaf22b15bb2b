//! What callers are told when there is no list for them.
//!
//! One function a case, so that code and text of each are in one place. Texts that Porch's own programs have are kept
//! word for word, because people search for them.

use std::time::Duration;

use kiln_go::{GoDuration, quote};
use kiln_proto::failure;
use kiln_proto::tonic_types::pb::RetryInfo;
use kiln_proto::{FunctionFailure, omit_middle};
use prost::Message as _;
use prost_types::Any;
use tonic::{Code, Status};

use crate::admission::Full;

/// How much of what a function printed goes into a text; all of it is in the details if the caller takes them. Status
/// texts travel in trailers, which peers limit.
const MAX_PRINTED: usize = 128 * 1024;

/// What a function printed, fit for a text.
pub(crate) fn printed(stderr: &[u8]) -> String {
    omit_middle(&String::from_utf8_lossy(stderr), MAX_PRINTED).into_owned()
}

pub(crate) fn request_too_large(size: usize, limit: usize) -> Status {
    Status::resource_exhausted(format!(
        "the request has {size} bytes, more than the limit of {limit} bytes; \
         a higher limit is set with --max-request-body-size here and with \
         --function-runner-grpc-max-message-size in Porch (porch-server: --max-request-body-size)"
    ))
}

pub(crate) fn answer_too_large(image: &str, size: usize, limit: usize) -> Status {
    Status::resource_exhausted(format!(
        "the answer of function {} has {size} bytes, more than the limit of {limit} bytes; \
         a higher limit is set with --max-request-body-size here and with \
         --function-runner-grpc-max-message-size in Porch (porch-server: --max-request-body-size)",
        quote(image)
    ))
}

pub(crate) fn wrote_too_much(image: &str, limit: u64) -> Status {
    Status::resource_exhausted(format!(
        "function {} wrote more than {limit} bytes and was killed; \
         the limit is twice what --max-request-body-size says",
        quote(image)
    ))
}

/// A function that used more than its sandbox allows.
pub(crate) fn over_limit(image: &str, reason: &str) -> Status {
    Status::resource_exhausted(format!("function {}: {reason}", quote(image)))
}

pub(crate) fn request_stalled(silence: Duration) -> Status {
    Status::deadline_exceeded(format!(
        "the request stopped coming for {} before it was whole",
        GoDuration::from_whole_millis(silence)
    ))
}

/// A request that comes, but too slowly.
pub(crate) fn request_slow(received: usize, time: Duration) -> Status {
    Status::deadline_exceeded(format!(
        "the request was not whole after {}: {received} bytes had arrived; \
         --request-timeout sets how long a request may take to arrive",
        GoDuration::from_whole_millis(time)
    ))
}

pub(crate) fn more_than_one_message() -> Status {
    Status::invalid_argument("the request has more than one message")
}

/// A call on a connection that is there for probes only.
pub(crate) fn too_many_connections() -> Status {
    let retry_after = Duration::from_secs(1);
    let text = format!(
        "too many connections with running calls, of this client's address or of all; try again in {}, \
         or raise --max-connections",
        GoDuration::from_whole_millis(retry_after)
    );
    try_again(text, retry_after)
}

/// Too many clients ask which services there are.
pub(crate) fn too_many_reflections() -> Status {
    try_again(
        "too many reflection streams are open; try again later".to_owned(),
        Duration::from_secs(1),
    )
}

pub(crate) fn unreadable(reason: &str) -> Status {
    Status::invalid_argument(format!("cannot read the resource list: {reason}"))
}

pub(crate) fn not_found(image: &str, asked: &str) -> Status {
    let asked = match asked {
        "" => "no evaluator is enabled".to_owned(),
        names => format!("evaluators asked: {names}"),
    };
    Status::not_found(format!("function {} not found; {asked}", quote(image)))
}

/// A function that the last evaluator has looked for elsewhere.
pub(crate) fn not_found_because(image: &str, asked: &str, reason: &str) -> Status {
    Status::not_found(format!(
        "function {} not found; evaluators asked: {asked}: {reason}",
        quote(image)
    ))
}

/// Too many bytes of requests are in memory already.
pub(crate) fn no_memory(size: usize) -> Status {
    let retry_after = Duration::from_secs(1);
    let text = format!(
        "no room for a request of {size} bytes while others are waiting or running; try again in {}, \
         or raise --max-held-bytes",
        GoDuration::from_whole_millis(retry_after)
    );
    try_again(text, retry_after)
}

/// Too many streams are open already, or their headers are too large.
pub(crate) fn too_many_streams() -> Status {
    let retry_after = Duration::from_secs(1);
    let text = format!(
        "too many requests are open, or their headers are too large; try again in {}",
        GoDuration::from_whole_millis(retry_after)
    );
    try_again(text, retry_after)
}

pub(crate) fn full(waiting: usize, full: Full) -> Status {
    let text = format!(
        "too many evaluations: {waiting} are waiting already; try again in {}, \
         or raise --max-queued-evaluations",
        GoDuration::from_whole_millis(full.retry_after)
    );
    try_again(text, full.retry_after)
}

fn try_again(text: String, retry_after: Duration) -> Status {
    let retry_info = RetryInfo {
        retry_delay: prost_types::Duration::try_from(retry_after).ok(),
    };
    let detail = Any {
        type_url: "type.googleapis.com/google.rpc.RetryInfo".to_owned(),
        value: retry_info.encode_to_vec(),
    };
    failure::with_details(Code::ResourceExhausted, text, vec![detail])
}

pub(crate) fn timed_out(image: &str, timeout: Duration) -> Status {
    Status::deadline_exceeded(format!(
        "function {} did not finish within {}",
        quote(image),
        GoDuration::from_whole_millis(timeout)
    ))
}

pub(crate) fn cancelled(image: &str) -> Status {
    Status::cancelled(format!("function {} was cancelled", quote(image)))
}

pub(crate) fn ending() -> Status {
    Status::unavailable(kiln_proto::ENDING)
}

pub(crate) fn interrupted(image: &str) -> Status {
    Status::unavailable(format!(
        "function {} was interrupted because the server is shutting down",
        quote(image)
    ))
}

pub(crate) fn unavailable(image: &str, reason: &str) -> Status {
    Status::unavailable(format!("cannot run function {}: {reason}", quote(image)))
}

pub(crate) fn panicked(image: &str) -> Status {
    Status::internal(format!("evaluating function {} panicked", quote(image)))
}

/// A native function whose worker process ended in the middle of the call.
pub(crate) fn worker_died(image: &str, reason: &str) -> Status {
    Status::internal(format!(
        "function {} ended its worker process ({reason})",
        quote(image)
    ))
}

/// A function that could not be started, or a program that failed.
pub(crate) fn failed_to_execute(reason: &str, failure: FunctionFailure, room: usize) -> Status {
    let text = format!(
        "Failed to execute function {}: {reason} ({})",
        quote(&failure.image),
        printed(&failure.stderr)
    );
    failure::to_status(Code::Internal, text, failure, room)
}

/// A function that failed and has results to tell why.
pub(crate) fn failed_with_results(results: &str, failure: FunctionFailure, room: usize) -> Status {
    let text = format!(
        "failed to evaluate function {} with structured results: {} and stderr: {}",
        quote(&failure.image),
        omit_middle(results, MAX_PRINTED),
        printed(&failure.stderr)
    );
    failure::to_status(Code::Internal, text, failure, room)
}

/// A function whose answer is no list.
pub(crate) fn unreadable_output(reason: &str, failure: FunctionFailure, room: usize) -> Status {
    let text = format!(
        "failed to parse the output of function {} with stderr '{}': {reason}",
        quote(&failure.image),
        printed(&failure.stderr)
    );
    failure::to_status(Code::Internal, text, failure, room)
}
