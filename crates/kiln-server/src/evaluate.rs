//! One evaluation on a thread that may block: list in, function, list or status out. Also the responses for functions
//! that ran elsewhere ([`unread`]) and that did not run to their end ([`not_run`]).

use std::sync::Arc;
use std::thread;

use bytes::Bytes;
use kiln_go::error_chain;
use kiln_krm::{Dialect, Wrapper, write_list};
use kiln_proto::evaluator::EvaluateFunctionResponse;
use kiln_proto::failure::{self, MAX_WHOLE_MESSAGE, whole_message};
use kiln_proto::{FunctionFailure, omit_middle};
use kiln_runtime::{FunctionIdentity, Input, Outcome, Output, RunContext, RunError, Runner};
use prost::Message as _;
use tonic::Status;

use crate::list::{self, ListError, ListShape, Results};
use crate::options::Words;
use crate::service::Arrival;
use crate::status;

/// Lists up to this size are checked before the function runs. That takes little time compared with starting a process;
/// larger ones are checked meanwhile.
const READ_FIRST: usize = 64 * 1024;

pub(crate) struct Evaluation {
    pub(crate) image: String,
    pub(crate) list: Bytes,
    pub(crate) runner: Arc<dyn Runner>,
    /// How failures of programs are reported.
    pub(crate) words: Words,
    pub(crate) ctx: RunContext,
    /// Maximum size of the response.
    pub(crate) max_message_size: usize,
    /// How many bytes of details the caller accepts with a failure.
    pub(crate) room: usize,
}

/// The result of a call.
pub(crate) struct Evaluated {
    pub(crate) exit_code: Option<i32>,
    pub(crate) answer: Result<EvaluateFunctionResponse, Status>,
    /// A message for the log.
    pub(crate) warning: Option<String>,
    /// What exactly ran, for the caller.
    pub(crate) identity: Option<FunctionIdentity>,
}

impl Evaluated {
    /// A function that did not run.
    pub(crate) fn refused(status: Status) -> Evaluated {
        Evaluated {
            exit_code: None,
            answer: Err(status),
            warning: None,
            identity: None,
        }
    }
}

enum NoOutcome {
    UnreadableList(ListError),
    NotRun(RunError),
}

impl From<ListError> for NoOutcome {
    fn from(error: ListError) -> NoOutcome {
        NoOutcome::UnreadableList(error)
    }
}

impl Evaluation {
    pub(crate) fn evaluate(self) -> Result<Evaluated, RunError> {
        let unreadable = |reason: String| Ok(Evaluated::refused(status::unreadable(&reason)));
        let text = match std::str::from_utf8(&self.list) {
            Ok(text) => text,
            Err(error) => return unreadable(error.to_string()),
        };
        match self.run(text) {
            Ok((outcome, shape)) => {
                let mut warning = None;
                let identity = outcome.identity.clone();
                Ok(Evaluated {
                    exit_code: Some(outcome.exit_code),
                    answer: self.answer(text, shape, outcome, &mut warning),
                    warning,
                    identity,
                })
            }
            Err(NoOutcome::UnreadableList(error)) => unreadable(error.to_string()),
            Err(NoOutcome::NotRun(error)) => Err(error),
        }
    }

    /// Native functions replace images, and fail like them.
    fn words(&self) -> Words {
        match self.runner.is_native() {
            true => Words::Wrapper,
            false => self.words,
        }
    }

    fn run(&self, text: &str) -> Result<(Outcome, ListShape), NoOutcome> {
        let runner = &self.runner;
        let input = Input::from_wire(Dialect::Current, text);
        let run = || runner.run(&input, &self.ctx).map_err(NoOutcome::NotRun);
        if runner.is_native() {
            // Native functions parse the list anyway, and report if it is malformed.
            if !list::looks_like_list(text) {
                list::read(text)?;
            }
            let outcome = run()?;
            if !outcome.is_success() {
                list::read(text)?;
            }
            return Ok((outcome, ListShape::Unknown));
        }
        if text.len() <= READ_FIRST || !list::looks_like_list(text) {
            let shape = list::check(text)?;
            return Ok((run()?, shape));
        }
        // The list is checked while the program runs: this costs the caller no time.
        let (outcome, checked) = thread::scope(|scope| {
            let reader = thread::Builder::new().spawn_scoped(scope, || list::check(text));
            (run(), reader.map(|reader| reader.join()))
        });
        let shape = match checked {
            Ok(Ok(checked)) => checked?,
            // There was no thread for it.
            _ => list::check(text)?,
        };
        Ok((outcome?, shape))
    }

    fn answer(
        &self,
        text: &str,
        shape: ListShape,
        outcome: Outcome,
        warning: &mut Option<String>,
    ) -> Result<EvaluateFunctionResponse, Status> {
        let exit_text = outcome.exit_text();
        let success = outcome.is_success();
        let Outcome {
            exit_code,
            signal,
            output,
            stderr,
            ..
        } = outcome;
        let output = wire(text, output);
        if success {
            // What was checked before need not be checked again.
            let shape = match output == text {
                true => shape,
                false => ListShape::Unknown,
            };
            return self.success(output, shape, stderr, warning);
        }
        let mut failure = failure(&self.image, exit_code, signal, stderr);
        let read = self.read_output(&output);
        if let Ok(results) = &read {
            failure.results = results.text.clone().into();
        }
        failure.output = output;
        Err(match (self.words(), read) {
            (Words::Runner, _) => status::failed_to_execute(&exit_text, failure, self.room),
            (Words::Wrapper, Ok(results)) => {
                status::failed_with_results(&results.message(), failure, self.room)
            }
            (Words::Wrapper, Err(error)) => status::unreadable_output(&error, failure, self.room),
        })
    }

    fn success(
        &self,
        output: Bytes,
        shape: ListShape,
        stderr: Vec<u8>,
        warning: &mut Option<String>,
    ) -> Result<EvaluateFunctionResponse, Status> {
        match self.check_output(&output, shape) {
            Ok(results) if results.has_errors() => {
                *warning = Some(format!(
                    "failed to evaluate function {} with structured results: {} and stderr: {}",
                    kiln_go::quote(&self.image),
                    results.message(),
                    status::printed(&stderr)
                ));
            }
            Ok(_) => {}
            Err(error) => {
                let mut failure = failure(&self.image, 0, None, stderr);
                failure.output = output;
                return Err(status::unreadable_output(&error, failure, self.room));
            }
        }
        let limit = self.max_message_size;
        let response = EvaluateFunctionResponse {
            resource_list: output,
            log: stderr.into(),
        };
        fit(response, limit).map_err(|size| status::answer_too_large(&self.image, size, limit))
    }

    /// Checks that the answer of a function that succeeded is a list; returns its results if it may have some.
    fn check_output(&self, output: &Bytes, shape: ListShape) -> Result<Results, String> {
        let (runner, words) = (&self.runner, self.words());
        let text = std::str::from_utf8(output).unwrap_or_default();
        let looks_fine = list::looks_like_list(text);
        let results = if runner.is_native() && looks_fine {
            list::read_written(text).or_else(|_| list::read(text))
        } else if shape == ListShape::Plain && list::is_plain_answer(text)
            || looks_fine
                && words == Words::Runner
                && text.len() > READ_FIRST
                && list::is_plain_answer(text)
        {
            Ok(Results::default())
        } else {
            list::read_answer(output, words)
        };
        results.map_err(|error| error.to_string())
    }

    /// The results in the answer of a function that failed. A native function may have no answer.
    fn read_output(&self, output: &Bytes) -> Result<Results, String> {
        let results = match std::str::from_utf8(output) {
            Ok(text) if self.runner.is_native() => list::read(text),
            _ => list::read_answer(output, self.words()),
        };
        results.map_err(|error| error.to_string())
    }
}

/// The response with as much of the log as fits; its size if the list alone does not fit.
fn fit(
    mut response: EvaluateFunctionResponse,
    limit: usize,
) -> Result<EvaluateFunctionResponse, usize> {
    let over = response.encoded_len().saturating_sub(limit);
    if over > 0 {
        let log = String::from_utf8_lossy(&response.log);
        // The encoding of lengths takes a few bytes more or less.
        let room = log.len().saturating_sub(over + 8);
        let log = if room > 0 {
            omit_middle(&log, room).into_owned()
        } else {
            String::new()
        };
        response.log = log.into();
    }
    match response.encoded_len() {
        size if size > limit => Err(size),
        _ => Ok(response),
    }
}

/// The response that this server may send and that the caller accepts, whatever evaluator it comes from.
pub(crate) fn fit_answer(
    image: &str,
    response: EvaluateFunctionResponse,
    arrival: &Arrival,
) -> Result<EvaluateFunctionResponse, Status> {
    let limit = arrival.max_message_size;
    let response =
        fit(response, limit).map_err(|size| status::answer_too_large(image, size, limit))?;
    match arrival.max_answer {
        Some(limit) => fit(response, limit)
            .map_err(|size| status::answer_too_large_for_caller(image, size, limit)),
        None => Ok(response),
    }
}

/// The response for a function that ran elsewhere, with its answer unchanged. `room` is how many bytes of details the
/// caller accepts.
pub(crate) fn unread(image: &str, outcome: Outcome, room: usize) -> Evaluated {
    let exit_text = outcome.exit_text();
    let is_success = outcome.is_success();
    let output = wire("", outcome.output);
    Evaluated {
        exit_code: Some(outcome.exit_code),
        identity: outcome.identity,
        answer: match is_success {
            true => Ok(EvaluateFunctionResponse {
                resource_list: output,
                log: outcome.stderr.into(),
            }),
            false => {
                let failure = FunctionFailure {
                    output,
                    ..failure(image, outcome.exit_code, outcome.signal, outcome.stderr)
                };
                Err(status::failed_to_execute(&exit_text, failure, room))
            }
        },
        warning: None,
    }
}

/// The response for a function that did not run to its end. `evaluators` names the evaluators, `room` is how many bytes of
/// details the caller accepts.
pub(crate) fn not_run(image: &str, error: RunError, evaluators: &str, room: usize) -> Evaluated {
    Evaluated::refused(match error {
        RunError::NotStarted(error) => {
            let failure = failure(image, -1, None, Vec::new());
            status::failed_to_execute(&error.to_string(), failure, room)
        }
        RunError::TimedOut { timeout, .. } => status::timed_out(image, timeout),
        RunError::Cancelled => status::cancelled(image),
        RunError::OutputTooLarge { limit } => status::wrote_too_much(image, limit),
        RunError::NotFound(error) | RunError::Declined(error) => {
            status::not_found_because(image, evaluators, &error_chain(error.as_ref()))
        }
        RunError::Denied(error) => status::denied(&*error),
        RunError::Unavailable(error) | RunError::Remote(error) => {
            match error.downcast::<Status>() {
                // The status of the peer.
                Ok(status) => return fitted(*status, room),
                Err(error) => status::unavailable(image, &error_chain(error.as_ref())),
            }
        }
        error @ RunError::OverLimit(_) => status::over_limit(image, &error.to_string()),
        error @ RunError::Io { .. } => status::unavailable(image, &error_chain(&error)),
    })
}

/// A peer's status with details that the caller accepts, and the exit code if the peer reports it.
fn fitted(status: Status, room: usize) -> Evaluated {
    let (exit_code, status) = match failure::from_status(&status) {
        Some(failure) => {
            let exit_code = Some(failure.exit_code);
            let text = whole_message(&status);
            let text = omit_middle(&text, MAX_WHOLE_MESSAGE).into_owned();
            let status = failure::to_status(status.code(), text, failure, room);
            (exit_code, status)
        }
        None if status.details().len() > room => {
            (None, Status::new(status.code(), status.message()))
        }
        // The metadata of the response belong to the connection with the peer; they are not passed on.
        None => {
            let details = Bytes::copy_from_slice(status.details());
            let status = Status::with_details(status.code(), status.message(), details);
            (None, status)
        }
    };
    Evaluated {
        exit_code,
        ..Evaluated::refused(status)
    }
}

fn failure(image: &str, exit_code: i32, signal: Option<i32>, stderr: Vec<u8>) -> FunctionFailure {
    FunctionFailure {
        image: image.to_owned(),
        exit_code,
        signal,
        stderr: stderr.into(),
        ..FunctionFailure::default()
    }
}

/// An answer as text. A tree without a configuration gets that of its input list.
fn wire(list: &str, output: Output) -> Bytes {
    match output {
        Output::Wire(bytes) => bytes,
        Output::List(answer) => {
            let wrapper = answer
                .wrapper
                .unwrap_or_else(|| Wrapper::resource_list(Dialect::Current));
            let input = Input::from_wire(Dialect::Current, list);
            let config = answer.function_config.as_ref();
            let config = config.or_else(|| input.function_config());
            write_list(&wrapper, &answer.items, config, answer.results.as_ref()).into()
        }
    }
}
