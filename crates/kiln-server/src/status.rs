//! The statuses of calls that fail.
//!
//! One function per case, so that code and text of each are in one place. Texts that Porch's own programs have are kept
//! word for word, because users search for them.

use std::error::Error;
use std::time::Duration;

use kiln_go::{GoDuration, error_chain, quote};
use kiln_proto::failure;
use kiln_proto::tonic_types::pb::RetryInfo;
use kiln_proto::{FunctionFailure, omit_middle};
use prost::Message as _;
use prost_types::Any;
use tonic::{Code, Status};

use crate::admission::Full;

/// How much of stderr goes into a text; the details hold all of it if the caller accepts them. Status texts are sent in
/// trailers, which peers limit.
const MAX_PRINTED: usize = 128 * 1024;

/// stderr for a text.
pub(crate) fn printed(stderr: &[u8]) -> String {
    omit_middle(&String::from_utf8_lossy(stderr), MAX_PRINTED).into_owned()
}

pub(crate) fn request_too_large(size: usize, limit: usize) -> Status {
    Status::resource_exhausted(format!(
        "the request has {size} bytes, more than the limit of {limit} bytes; \
         raise it with --max-request-body-size here and with \
         --function-runner-grpc-max-message-size in Porch (porch-server: --max-request-body-size)"
    ))
}

pub(crate) fn answer_too_large(image: &str, size: usize, limit: usize) -> Status {
    Status::resource_exhausted(format!(
        "the answer of function {} has {size} bytes, more than the limit of {limit} bytes; \
         raise it with --max-request-body-size here and with \
         --function-runner-grpc-max-message-size in Porch (porch-server: --max-request-body-size)",
        quote(image)
    ))
}

/// A response that the caller would not accept, as it announced.
pub(crate) fn answer_too_large_for_caller(image: &str, size: usize, limit: usize) -> Status {
    Status::resource_exhausted(format!(
        "the answer of function {} has {size} bytes, more than the {limit} bytes that the caller accepts; \
         raise the caller's limit: --runner-max-message-size of kiln, --max-request-body-size of a function runner",
        quote(image)
    ))
}

pub(crate) fn wrote_too_much(image: &str, limit: u64) -> Status {
    Status::resource_exhausted(format!(
        "function {} wrote more than {limit} bytes and was killed; \
         the limit is twice --max-request-body-size",
        quote(image)
    ))
}

/// A function that exceeded a limit of its sandbox.
pub(crate) fn over_limit(image: &str, reason: &str) -> Status {
    Status::resource_exhausted(format!("function {}: {reason}", quote(image)))
}

pub(crate) fn request_stalled(silence: Duration) -> Status {
    Status::deadline_exceeded(format!(
        "no data of the request for {}, and it is incomplete",
        GoDuration::from_whole_millis(silence)
    ))
}

/// A request that arrives too slowly.
pub(crate) fn request_slow(received: usize, time: Duration) -> Status {
    Status::deadline_exceeded(format!(
        "the request was incomplete after {}: {received} bytes had arrived; \
         --request-timeout limits how long a request may take to arrive",
        GoDuration::from_whole_millis(time)
    ))
}

pub(crate) fn more_than_one_message() -> Status {
    Status::invalid_argument("the request has more than one message")
}

/// A call on a connection that is reserved for probes.
pub(crate) fn too_many_connections() -> Status {
    let retry_after = Duration::from_secs(1);
    let text = format!(
        "too many connections with running calls, of this client's address or of all; try again in {}, \
         or raise --max-connections",
        GoDuration::from_whole_millis(retry_after)
    );
    try_again(text, retry_after)
}

/// Too many reflection streams.
pub(crate) fn too_many_reflections() -> Status {
    try_again(
        "too many reflection streams are open; try again later".to_owned(),
        Duration::from_secs(1),
    )
}

pub(crate) fn unreadable(reason: &str) -> Status {
    Status::invalid_argument(format!("cannot read the resource list: {reason}"))
}

pub(crate) fn not_found(image: &str, evaluators: &str) -> Status {
    let tried = match evaluators {
        "" => "no evaluator is enabled".to_owned(),
        names => format!("evaluators asked: {names}"),
    };
    Status::not_found(format!("function {} not found; {tried}", quote(image)))
}

/// A function that a peer did not find.
pub(crate) fn not_found_because(image: &str, evaluators: &str, reason: &str) -> Status {
    Status::not_found(format!(
        "function {} not found; evaluators asked: {evaluators}: {reason}",
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
    Status::unavailable(kiln_proto::SHUTTING_DOWN)
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

/// A function that the policy of this runner refuses.
pub(crate) fn denied(refusal: &(dyn Error + Send + Sync + 'static)) -> Status {
    Status::permission_denied(error_chain(refusal))
}

pub(crate) fn panicked(image: &str) -> Status {
    Status::internal(format!("evaluating function {} panicked", quote(image)))
}

/// A native function whose worker process exited during the call.
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

/// A function that failed with results.
pub(crate) fn failed_with_results(results: &str, failure: FunctionFailure, room: usize) -> Status {
    let text = format!(
        "failed to evaluate function {} with structured results: {} and stderr: {}",
        quote(&failure.image),
        omit_middle(results, MAX_PRINTED),
        printed(&failure.stderr)
    );
    failure::to_status(Code::Internal, text, failure, room)
}

/// A function whose answer is not a list.
pub(crate) fn unreadable_output(reason: &str, failure: FunctionFailure, room: usize) -> Status {
    let text = format!(
        "failed to parse the output of function {} with stderr '{}': {reason}",
        quote(&failure.image),
        printed(&failure.stderr)
    );
    failure::to_status(Code::Internal, text, failure, room)
}
