//! One evaluation on a thread that may block: list in, function, list out or status.

use std::thread;

use bytes::Bytes;
use kiln_krm::{Dialect, Wrapper, write_list};
use kiln_proto::evaluator::EvaluateFunctionResponse;
use kiln_proto::{FunctionFailure, omit_middle};
use kiln_runtime::{Input, Outcome, Output, RunContext, RunError};
use prost::Message as _;
use tonic::Status;

use crate::evaluators::{Found, Words};
use crate::list::{self, ListError, Results};
use crate::status;

/// Where it is not plain to see that something is a list, texts of at most so many bytes are parsed. Parsing them takes no
/// time beside starting a process; parsing larger ones would.
const READ_WHOLE: usize = 64 * 1024;

/// What is to be evaluated.
pub(crate) struct Evaluation {
    pub(crate) image: String,
    pub(crate) list: Bytes,
    pub(crate) found: Found,
    pub(crate) ctx: RunContext,
    /// How large the answer may be.
    pub(crate) max_message_size: usize,
    /// How many bytes of details the caller takes with a failure.
    pub(crate) room: usize,
}

/// What came of it.
pub(crate) struct Evaluated {
    pub(crate) exit_code: Option<i32>,
    pub(crate) answer: Result<EvaluateFunctionResponse, Status>,
    /// What the service logs about it.
    pub(crate) warning: Option<String>,
}

impl Evaluated {
    /// A function that did not run.
    pub(crate) fn refused(status: Status) -> Evaluated {
        Evaluated {
            exit_code: None,
            answer: Err(status),
            warning: None,
        }
    }
}

impl Evaluation {
    /// Runs the function.
    pub(crate) fn evaluate(self) -> Evaluated {
        let text = match std::str::from_utf8(&self.list) {
            Ok(text) => text,
            Err(error) => {
                return Evaluated::refused(status::unreadable(&error.to_string()));
            }
        };
        match self.run(text) {
            Ok(outcome) => {
                let mut warning = None;
                Evaluated {
                    exit_code: Some(outcome.exit_code),
                    answer: self.answer(text, outcome, &mut warning),
                    warning,
                }
            }
            Err(status) => Evaluated::refused(status),
        }
    }

    fn run(&self, text: &str) -> Result<Outcome, Status> {
        let unreadable = |error: ListError| status::unreadable(&error.to_string());
        let runner = &self.found.runner;
        // Native functions read the list anyway, and say so if they cannot.
        let looks_fine = match runner.is_native() {
            true => list::looks_like_list(text),
            false => list::is_plain_list(text),
        };
        let read_first = !looks_fine
            && (runner.is_native() || text.len() <= READ_WHOLE || !list::looks_like_list(text));
        if read_first {
            list::read(text).map_err(unreadable)?;
        } else if looks_fine && !runner.is_native() {
            list::read_written(text).map_err(unreadable)?;
        }
        let input = Input::from_wire(Dialect::Current, text);
        let outcome = if read_first || looks_fine {
            runner.run(&input, &self.ctx)
        } else {
            // The program starts on the list while it is read here: it costs the caller no time.
            let (outcome, readable) = thread::scope(|scope| {
                let reader = thread::Builder::new().spawn_scoped(scope, || list::read(text));
                let outcome = runner.run(&input, &self.ctx);
                let readable = reader.map(|reader| reader.join());
                (outcome, readable)
            });
            if let Ok(Ok(Err(error))) = readable {
                return Err(unreadable(error));
            }
            outcome
        };
        let outcome = outcome.map_err(|error| self.not_run(error))?;
        if runner.is_native() && !outcome.is_success() {
            list::read(text).map_err(unreadable)?;
        }
        Ok(outcome)
    }

    fn not_run(&self, error: RunError) -> Status {
        let image = &self.image;
        match error {
            RunError::NotStarted(error) => {
                let failure = self.failure(-1, None, Vec::new());
                status::failed_to_execute(&error.to_string(), failure, self.room)
            }
            RunError::TimedOut { timeout, .. } => status::timed_out(image, timeout),
            RunError::Cancelled => status::cancelled(image),
            RunError::OutputTooLarge { limit } => status::wrote_too_much(image, limit),
            RunError::NotFound(error) => status::unknown(image, &with_sources(error.as_ref())),
            RunError::Unavailable(error) | RunError::Remote(error) => {
                match error.downcast::<Status>() {
                    // The words of the peer that was to run it.
                    Ok(status) => *status,
                    Err(error) => status::unavailable(image, &with_sources(error.as_ref())),
                }
            }
            error @ RunError::OverLimit(_) => status::over_limit(image, &error.to_string()),
            error @ RunError::Io { .. } => status::unavailable(image, &with_sources(&error)),
        }
    }

    fn failure(&self, exit_code: i32, signal: Option<i32>, stderr: Vec<u8>) -> FunctionFailure {
        FunctionFailure {
            image: self.image.clone(),
            exit_code,
            signal,
            stderr: stderr.into(),
            ..FunctionFailure::default()
        }
    }

    fn answer(
        &self,
        text: &str,
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
        let output = self.output(text, output);
        if success {
            return self.success(output, stderr, warning);
        }
        let mut failure = self.failure(exit_code, signal, stderr);
        let read = self.read_output(&output);
        if let Ok(results) = &read {
            failure.results = results.text.clone().into();
        }
        failure.output = output;
        Err(match (self.found.words, read) {
            (Words::Runner, _) => status::failed_to_execute(&exit_text, failure, self.room),
            (Words::Wrapper, Ok(results)) => {
                status::failed_with_results(&results.message(), failure, self.room)
            }
            (Words::Wrapper, Err(error)) => status::unreadable_output(&error, failure, self.room),
        })
    }

    /// The answer as text.
    fn output(&self, text: &str, output: Output) -> Bytes {
        match output {
            Output::Wire(bytes) => bytes.into(),
            Output::List(list) => {
                let wrapper = list
                    .wrapper
                    .unwrap_or_else(|| Wrapper::resource_list(Dialect::Current));
                let input = Input::from_wire(Dialect::Current, text);
                let config = list.function_config.as_ref();
                let config = config.or_else(|| input.function_config());
                write_list(&wrapper, &list.items, config, list.results.as_ref()).into()
            }
        }
    }

    fn success(
        &self,
        output: Bytes,
        stderr: Vec<u8>,
        warning: &mut Option<String>,
    ) -> Result<EvaluateFunctionResponse, Status> {
        match self.check_output(&output) {
            Ok(results) if results.has_errors() => {
                *warning = Some(format!(
                    "failed to evaluate function {} with structured results: {} and stderr: {}",
                    kiln_krm::gotext::quote(&self.image),
                    results.message(),
                    status::printed(&stderr)
                ));
            }
            Ok(_) => {}
            Err(error) => {
                let mut failure = self.failure(0, None, stderr);
                failure.output = output;
                return Err(status::unreadable_output(&error, failure, self.room));
            }
        }
        let limit = self.max_message_size;
        let mut response = EvaluateFunctionResponse {
            resource_list: output,
            log: stderr.into(),
        };
        let over = response.encoded_len().saturating_sub(limit);
        if over > 0 {
            let log = String::from_utf8_lossy(&response.log);
            // Lengths are written before what they measure, and take a few bytes more or less.
            let room = log.len().saturating_sub(over + 8);
            let log = if room > 0 {
                omit_middle(&log, room).into_owned()
            } else {
                String::new()
            };
            response.log = log.into();
        }
        let size = response.encoded_len();
        if size > limit {
            return Err(status::answer_too_large(&self.image, size, limit));
        }
        Ok(response)
    }

    /// Whether the answer of a function that succeeded is a list, and its results if it may have some.
    fn check_output(&self, output: &Bytes) -> Result<Results, String> {
        let (runner, words) = (&self.found.runner, self.found.words);
        let text = std::str::from_utf8(output).unwrap_or_default();
        let looks_fine = list::looks_like_list(text);
        let results = if runner.is_native() && looks_fine {
            list::read_written(text).or_else(|_| list::read(text))
        } else if looks_fine
            && words == Words::Runner
            && text.len() > READ_WHOLE
            && list::is_plain_answer(text)
        {
            Ok(Results::default())
        } else {
            list::read_answer(output, words)
        };
        results.map_err(|error| error.to_string())
    }

    /// The results in the answer of a function that failed. A native one need not have an answer.
    fn read_output(&self, output: &Bytes) -> Result<Results, String> {
        let results = match std::str::from_utf8(output) {
            Ok(text) if self.found.runner.is_native() => list::read(text),
            _ => list::read_answer(output, self.found.words),
        };
        results.map_err(|error| error.to_string())
    }
}

/// An error and what is behind it.
pub(crate) fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
}
