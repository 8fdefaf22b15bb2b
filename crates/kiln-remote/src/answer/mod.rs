//! The meaning of a runner's answer: a function that ran, or a reason why it did not.

use std::error::Error;
use std::time::{Duration, Instant};

use bytes::Bytes;
use kiln_go::error_chain;
use kiln_proto::client::{CallError, TooLarge};
use kiln_proto::evaluator::EvaluateFunctionResponse;
use kiln_proto::failure::{from_status, whole_message};
use kiln_proto::peer::MessageLimits;
use kiln_proto::transport::causes;
use kiln_proto::{FunctionFailure, IDENTITY_METADATA};
use kiln_runtime::{Deadline, FunctionIdentity, Outcome, Output, PeerError, PeerProblem, RunError};
use tonic::metadata::MetadataMap;
use tonic::{Code, ConnectError, Response, Status};

use crate::address::Address;
use crate::error::EvalError;
use crate::problem::connection_problem;

/// The flags for the size of messages: of kiln and the seed's porch-server, of the runner, and of Porch's own
/// porch-server.
const LIMIT_FLAGS: &str = "raise --function-runner-grpc-max-message-size here and --max-request-body-size of the \
     runner to the same value (porch-server's flag is --max-request-body-size, too)";

/// A runner's clock may be a little ahead of ours.
const TOLERANCE: Duration = Duration::from_millis(100);

pub(crate) struct RunnerCall<'a> {
    pub(crate) image: &'a str,
    pub(crate) address: &'a Address,
    pub(crate) is_encrypted: bool,
    pub(crate) limits: MessageLimits,
    pub(crate) deadline: Option<Deadline>,
    pub(crate) started: Instant,
}

impl RunnerCall<'_> {
    /// The outcome of a call that the runner answered.
    pub(crate) fn outcome(
        &self,
        answer: Result<Response<EvaluateFunctionResponse>, CallError>,
    ) -> Result<Outcome, RunError> {
        let status = match answer {
            Ok(response) => {
                let identity = reported_identity(response.metadata());
                let response = response.into_inner();
                return Ok(Outcome {
                    exit_code: 0,
                    signal: None,
                    output: Output::Wire(response.resource_list),
                    stderr: response.log.into(),
                    elapsed: self.started.elapsed(),
                    identity,
                    is_cached: false,
                });
            }
            Err(CallError::TooLarge(too_large)) => return Err(self.too_large(&too_large)),
            Err(CallError::Status(status)) => status,
        };
        match from_status(&status).filter(has_failed) {
            Some(failure) => Ok(Outcome {
                identity: reported_identity(status.metadata()),
                ..self.restore(failure)
            }),
            None => Err(self.error(&status)),
        }
    }

    /// The error for a message that is too large to send.
    fn too_large(&self, too_large: &TooLarge) -> RunError {
        let TooLarge { size, limit, .. } = too_large;
        let announced = match too_large.announced {
            Some(theirs) => format!("the runner accepts {theirs} bytes; "),
            None => String::new(),
        };
        self.remote(
            Code::ResourceExhausted,
            format!(
                "trying to send message larger than max ({size} vs. {limit}): {announced}{LIMIT_FLAGS}"
            ),
        )
    }

    /// The error for a connection that cannot be set up.
    pub(crate) fn not_set_up(&self, error: &dyn Error) -> RunError {
        self.remote(Code::Unavailable, error_chain(error))
    }

    fn error(&self, status: &Status) -> RunError {
        let code = status.code();
        if matches!(code, Code::DeadlineExceeded | Code::Cancelled)
            && let Some(deadline) = self.deadline
            && deadline.at <= Instant::now() + TOLERANCE
        {
            return timed_out(deadline);
        }
        let message = &*whole_message(status);
        if let Some(connect) = causes(status).find(|cause| cause.is::<ConnectError>()) {
            let cause = connect.source().map_or_else(String::new, error_chain);
            let error = self.remote(
                Code::Unavailable,
                format!(
                    "connection error: desc = \"transport: Error while dialing: dial {}: {cause}\"",
                    self.address
                ),
            );
            return with_problem(error, connection_problem(connect, self.is_encrypted));
        }
        // The transport's message for a response over the limit.
        if code == Code::OutOfRange && message.contains("decoded message length too large") {
            let sizes: Vec<&str> = message
                .split(|c: char| !c.is_ascii_digit())
                .filter(|part| !part.is_empty())
                .collect();
            let size = sizes.first().copied().unwrap_or("?");
            let limit = self.limits.kiln;
            return self.remote(
                Code::ResourceExhausted,
                format!(
                    "grpc: received message larger than max ({size} vs. {limit}): {LIMIT_FLAGS}"
                ),
            );
        }
        // The message of Go's runner for a request over its limit; it does not name the flag.
        if code == Code::ResourceExhausted && message.starts_with("grpc: received message larger") {
            return self.remote(code, format!("{message}: {LIMIT_FLAGS}"));
        }
        let error = self.eval_error(code, message.to_owned());
        let problem = match code {
            Code::NotFound => return RunError::NotFound(Box::new(error)),
            Code::Unauthenticated => Some(PeerProblem::Token),
            // Without a source, the peer itself reports the code.
            Code::Unavailable | Code::Unknown | Code::Internal => {
                let cause = status.source();
                cause.and_then(|cause| connection_problem(cause, self.is_encrypted))
            }
            _ => None,
        };
        with_problem(RunError::Remote(Box::new(error)), problem)
    }

    fn restore(&self, failure: FunctionFailure) -> Outcome {
        Outcome {
            exit_code: failure.exit_code,
            signal: failure.signal,
            output: Output::Wire(output(&failure)),
            stderr: stderr(&failure),
            elapsed: self.started.elapsed(),
            identity: None,
            is_cached: false,
        }
    }

    fn remote(&self, code: Code, description: String) -> RunError {
        RunError::Remote(Box::new(self.eval_error(code, description)))
    }

    fn eval_error(&self, code: Code, description: String) -> EvalError {
        EvalError {
            image: self.image.to_owned(),
            code,
            description,
        }
    }
}

/// What the runner says that it ran.
fn reported_identity(metadata: &MetadataMap) -> Option<FunctionIdentity> {
    let identity = metadata.get(IDENTITY_METADATA)?;
    FunctionIdentity::reported(identity.to_str().ok()?)
}

/// The error with its problem, if that is known.
fn with_problem(error: RunError, problem: Option<PeerProblem>) -> RunError {
    match (error, problem) {
        (RunError::Remote(error), Some(problem)) => {
            RunError::Remote(Box::new(PeerError { problem, error }))
        }
        (error, _) => error,
    }
}

/// Whether the function itself failed. A function that succeeded with an answer that the runner could not use, and one
/// that did not start, have no exit code that shows it: the text of the status does.
fn has_failed(failure: &FunctionFailure) -> bool {
    failure.exit_code > 0 || failure.signal.is_some()
}

fn timed_out(deadline: Deadline) -> RunError {
    RunError::TimedOut {
        timeout: deadline.timeout,
        stderr: Vec::new(),
    }
}

/// The answer of a failed function; if it was too large, a list with only its results.
fn output(failure: &FunctionFailure) -> Bytes {
    if failure.output_omitted == 0 || failure.results.is_empty() {
        return failure.output.clone();
    }
    let mut list =
        b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\nresults:\n".to_vec();
    list.extend_from_slice(&failure.results);
    list.into()
}

/// stderr of a failed function, with a note where the middle was omitted.
fn stderr(failure: &FunctionFailure) -> Vec<u8> {
    if failure.stderr_omitted == 0 {
        return failure.stderr.to_vec();
    }
    let (head, tail) = failure.stderr.split_at(failure.stderr.len() / 2);
    let note = format!("[... {} bytes omitted ...]", failure.stderr_omitted);
    [head, note.as_bytes(), tail].concat()
}

#[cfg(test)]
mod tests;
