//! What a runner's answer means: a function that ran, or a reason why it did not.

use std::error::Error;
use std::time::{Duration, Instant};

use bytes::Bytes;
use kiln_go::error_chain;
use kiln_proto::FunctionFailure;
use kiln_proto::evaluator::EvaluateFunctionResponse;
use kiln_proto::failure::{from_status, whole_message};
use kiln_proto::transport::causes;
use kiln_runtime::{Deadline, Outcome, Output, RunError};
use tonic::{Code, ConnectError, Status};

use crate::address::Address;
use crate::error::EvalError;

/// The flags for the size of messages: of kiln and the seed's porch-server, of the runner, and of Porch's own porch-server.
const LIMIT_FLAGS: &str = "raise --function-runner-grpc-max-message-size here and --max-request-body-size of the \
     runner to the same value (porch-server's flag is --max-request-body-size, too)";

/// A runner's clock may be a little ahead of ours.
const TOLERANCE: Duration = Duration::from_millis(100);

/// What was asked, and whom.
pub(crate) struct Asked<'a> {
    pub(crate) image: &'a str,
    pub(crate) address: &'a Address,
    pub(crate) max_message_size: usize,
    pub(crate) deadline: Option<Deadline>,
    pub(crate) started: Instant,
}

impl Asked<'_> {
    /// The outcome of a call that was answered.
    pub(crate) fn outcome(
        &self,
        answer: Result<EvaluateFunctionResponse, Status>,
    ) -> Result<Outcome, RunError> {
        let status = match answer {
            Ok(response) => {
                return Ok(Outcome {
                    exit_code: 0,
                    signal: None,
                    output: Output::Wire(response.resource_list),
                    stderr: response.log.into(),
                    elapsed: self.started.elapsed(),
                });
            }
            Err(status) => status,
        };
        match from_status(&status).filter(has_failed) {
            Some(failure) => Ok(self.restore(failure)),
            None => Err(self.error(&status)),
        }
    }

    /// A message that is too large to be sent.
    pub(crate) fn too_large(&self, size: usize) -> RunError {
        let limit = self.max_message_size;
        self.remote(
            Code::ResourceExhausted,
            format!("trying to send message larger than max ({size} vs. {limit}): {LIMIT_FLAGS}"),
        )
    }

    /// A call for which there is no connection and never will be.
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
            return self.remote(
                Code::Unavailable,
                format!(
                    "connection error: desc = \"transport: Error while dialing: dial {}: {cause}\"",
                    self.address
                ),
            );
        }
        // What the transport here says of an answer over the limit.
        if code == Code::OutOfRange && message.contains("decoded message length too large") {
            let sizes: Vec<&str> = message
                .split(|c: char| !c.is_ascii_digit())
                .filter(|part| !part.is_empty())
                .collect();
            let size = sizes.first().copied().unwrap_or("?");
            let limit = self.max_message_size;
            return self.remote(
                Code::ResourceExhausted,
                format!(
                    "grpc: received message larger than max ({size} vs. {limit}): {LIMIT_FLAGS}"
                ),
            );
        }
        // What Go's runner says of a request over its limit, without a word of what sets it.
        if code == Code::ResourceExhausted && message.starts_with("grpc: received message larger") {
            return self.remote(code, format!("{message}: {LIMIT_FLAGS}"));
        }
        let error = self.eval_error(code, message.to_owned());
        match code {
            Code::NotFound => RunError::NotFound(Box::new(error)),
            _ => RunError::Remote(Box::new(error)),
        }
    }

    fn restore(&self, failure: FunctionFailure) -> Outcome {
        Outcome {
            exit_code: failure.exit_code,
            signal: failure.signal,
            output: Output::Wire(output(&failure)),
            stderr: stderr(&failure),
            elapsed: self.started.elapsed(),
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

/// Whether the function itself failed. One that ended well, with an answer that the runner could not use, and one that
/// never began have no exit code that would say so: the text of the status does.
fn has_failed(failure: &FunctionFailure) -> bool {
    failure.exit_code > 0 || failure.signal.is_some()
}

/// A call that took too long.
fn timed_out(deadline: Deadline) -> RunError {
    RunError::TimedOut {
        timeout: deadline.timeout,
        stderr: Vec::new(),
    }
}

/// What a failed function answered: if it did not fit, a list with nothing but its results.
fn output(failure: &FunctionFailure) -> Bytes {
    if failure.output_omitted == 0 || failure.results.is_empty() {
        return failure.output.clone();
    }
    let mut list =
        b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\nresults:\n".to_vec();
    list.extend_from_slice(&failure.results);
    list.into()
}

/// What a failed function printed, with a note where something was left out of the middle.
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
