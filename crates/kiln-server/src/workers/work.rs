//! The main loop of a worker process: one call after the other, until the server closes the socket.

use std::io::{self, BufReader};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use bytes::Bytes;
use kiln_runtime::{Deadline, Evaluator, FunctionSpec, Limits, RunContext};

use super::frame::{self, RequestHead, ResponseHead};
use crate::evaluate::{Evaluated, Evaluation, not_run};
use crate::options::Words;
use crate::status;

/// The program name (first argument) of a worker.
pub const WORKER_NAME: &str = "kiln-worker";

/// The name of the workers' evaluator in responses.
const NATIVE: &str = "native";

/// Small requests arrive with one system call.
const READ_AHEAD: usize = 64 * 1024;

/// Serves calls on standard input, which is a socket, with the functions of `evaluator`. `arguments` are those that the
/// server starts workers with.
///
/// The process is confined permanently before the first call. It must not have other threads.
pub fn work(evaluator: &dyn Evaluator, arguments: impl Iterator<Item = String>) -> io::Result<()> {
    let invalid = || io::Error::new(io::ErrorKind::InvalidInput, "not started as a worker");
    let numbers: Option<Vec<u64>> = arguments.map(|word| word.parse().ok()).collect();
    let (parent, memory, is_strict) = match numbers.as_deref() {
        Some([parent, memory, is_strict]) => (*parent, *memory, *is_strict == 1),
        _ => return Err(invalid()),
    };
    let parent = u32::try_from(parent).map_err(|_| invalid())?;
    let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    // A function that panics fails; the server reports it to the caller.
    std::panic::set_hook(Box::new(|_| {}));
    let confined = kiln_sandbox::confine_worker(parent, memory);
    let ready = ResponseHead {
        message: confined.as_ref().err().map(describe).unwrap_or_default(),
        ..ResponseHead::default()
    };
    frame::write(&socket, &ready, &[])?;
    if confined.is_err() && is_strict {
        return Ok(());
    }
    let mut requests = BufReader::with_capacity(READ_AHEAD, &socket);
    while let Some((head, list)) = frame::read::<RequestHead>(&mut requests)? {
        let panicked = |_| {
            let response = response(Evaluated::refused(status::panicked(&head.image)));
            let (head, body) = response;
            (ResponseHead { ends: true, ..head }, body)
        };
        let answered = AssertUnwindSafe(|| response(evaluate(&head, list, evaluator)));
        let (response, body) = catch_unwind(answered).unwrap_or_else(panicked);
        frame::write(&socket, &response, &body)?;
        if response.ends {
            break;
        }
    }
    Ok(())
}

fn describe(error: &kiln_sandbox::SandboxError) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

fn evaluate(head: &RequestHead, list: Bytes, evaluator: &dyn Evaluator) -> Evaluated {
    let runner = match evaluator.find(&FunctionSpec::image(&head.worker_image)) {
        Ok(found) => found.into_runner(),
        Err(error) => {
            return Evaluated::refused(status::unavailable(&head.image, &error.to_string()));
        }
    };
    let size = |size: u64| usize::try_from(size).unwrap_or(usize::MAX);
    let deadline = head.timeout_micros.and_then(|micros| {
        let at = Instant::now().checked_add(Duration::from_micros(micros))?;
        let timeout = Duration::from_micros(head.given_micros);
        Some(Deadline { at, timeout })
    });
    let evaluation = Evaluation {
        image: head.image.clone(),
        list,
        runner,
        words: Words::Wrapper,
        ctx: RunContext {
            deadline,
            limits: Limits {
                max_output: head.max_output,
                ..Limits::default()
            },
            ..RunContext::default()
        },
        max_message_size: size(head.max_message_size),
        room: size(head.room),
    };
    let room = evaluation.room;
    let evaluated = evaluation.evaluate();
    evaluated.unwrap_or_else(|error| not_run(&head.image, error, NATIVE, room))
}

fn response(evaluated: Evaluated) -> (ResponseHead, Bytes) {
    let Evaluated {
        exit_code,
        answer,
        warning,
        identity,
    } = evaluated;
    let head = ResponseHead {
        exit_code,
        warning: warning.unwrap_or_default(),
        identity: identity.map_or_else(String::new, |identity| identity.to_string()),
        ..ResponseHead::default()
    };
    match answer {
        Ok(response) => {
            let log = response.log;
            (ResponseHead { log, ..head }, response.resource_list)
        }
        Err(status) => {
            let head = ResponseHead {
                code: status.code() as i32,
                message: status.message().to_owned(),
                details: Bytes::copy_from_slice(status.details()),
                ..head
            };
            (head, Bytes::new())
        }
    }
}
