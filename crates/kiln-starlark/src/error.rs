//! Why a run came to its end before its end.

use std::rc::Rc;

use crate::limits::MAX_MESSAGE;
use crate::syntax::Position;

/// What is wrong, while it travels up to the one who called.
#[derive(Debug)]
pub struct Failure(Box<Inner>);

#[derive(Debug)]
struct Inner {
    message: String,
    /// Innermost first.
    frames: Vec<Frame>,
}

/// A call that was under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The name of the function.
    pub function: Rc<str>,
    /// Where it was; nothing for functions of the language.
    pub position: Option<Position>,
}

impl Failure {
    /// A failure that says `message`.
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

    /// What it says.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The same failure, said with `prefix` and a colon before.
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

/// Fails with a message.
pub(crate) fn fail<T>(message: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::new(message))
}

/// A program that failed while it ran. Its text is the message alone, as in the original.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct EvalError {
    program: String,
    /// What is wrong.
    pub message: String,
    /// The calls that were under way, the outermost first.
    pub frames: Vec<Frame>,
}

/// How many of the outermost and of the innermost calls a backtrace shows.
const SHOWN_CALLS: usize = 500;

impl EvalError {
    /// The message with the calls that led to it.
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
