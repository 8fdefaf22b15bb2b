//! Errors of a run.

use std::rc::Rc;

use crate::limits::MAX_MESSAGE;
use crate::syntax::Position;

/// An error while it propagates to the caller.
#[derive(Debug)]
pub struct Failure(Box<Inner>);

#[derive(Debug)]
struct Inner {
    message: String,
    /// Innermost first.
    frames: Vec<Frame>,
}

/// A call on the stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub function: Rc<str>,
    /// The position in the function; `None` for functions of the language.
    pub position: Option<Position>,
}

impl Failure {
    pub fn new(message: impl Into<String>) -> Failure {
        let mut message = message.into();
        if message.len() > MAX_MESSAGE {
            let end = message.floor_char_boundary(MAX_MESSAGE);
            let left_out = message.len() - end;
            message.truncate(end);
            message.shrink_to_fit();
            message.push_str(&format!(" ... ({left_out} more bytes)"));
        }
        Failure(Box::new(Inner {
            message,
            frames: Vec::new(),
        }))
    }

    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The same failure with `prefix` and a colon before its message.
    pub(crate) fn within(mut self, prefix: &str) -> Failure {
        self.0.message = format!("{prefix}: {}", self.0.message);
        self
    }

    pub(crate) fn add_frame(&mut self, frame: Frame) {
        self.0.frames.push(frame);
    }

    pub(crate) fn into_error(self, program: &str) -> EvalError {
        let mut frames = self.0.frames;
        frames.reverse();
        EvalError {
            program: program.to_owned(),
            message: self.0.message,
            frames,
        }
    }
}

pub(crate) fn fail<T>(message: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::new(message))
}

/// A program that failed while it ran. Its text is the message alone, as in the original.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct EvalError {
    program: String,
    pub message: String,
    /// The calls on the stack, the outermost first.
    pub frames: Vec<Frame>,
}

/// How many of the outermost and of the innermost calls a backtrace shows.
const SHOWN_CALLS: usize = 500;

impl EvalError {
    /// The message with the stack of calls.
    pub fn backtrace(&self) -> String {
        let mut frames = self.frames.as_slice();
        let mut suffix = String::new();
        if let Some((
            Frame {
                function,
                position: None,
            },
            rest,
        )) = frames.split_last()
        {
            suffix = format!(" in {function}");
            frames = rest;
        }
        let mut out = String::new();
        if !frames.is_empty() {
            out.push_str("Traceback (most recent call last):\n");
        }
        for (i, frame) in frames.iter().enumerate() {
            if i == SHOWN_CALLS && frames.len() > 2 * SHOWN_CALLS {
                let left_out = frames.len() - 2 * SHOWN_CALLS;
                out.push_str(&format!("  ... {left_out} more calls ...\n"));
            }
            if (SHOWN_CALLS..frames.len().saturating_sub(SHOWN_CALLS)).contains(&i) {
                continue;
            }
            let place = match frame.position {
                Some(position) => format!("{}:{position}", self.program),
                None => "<builtin>".to_owned(),
            };
            out.push_str(&format!("  {place}: in {}\n", frame.function));
        }
        out.push_str(&format!("Error{suffix}: {}", self.message));
        out
    }
}
