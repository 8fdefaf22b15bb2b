//! kpt's SDK for TypeScript: everything passes through js-yaml, so that comments, anchors and styles are lost and
//! numbers are those of JavaScript; objects are sorted, and of several with the same key the last counts.
//!
//! An exception of JavaScript ends a function with exit code 2. Its first line is printed, without the stack.

mod annotations;
mod document;
mod objects;
mod resolve;
mod style;
#[cfg(test)]
mod tests;

pub(crate) use annotations::in_step;
pub(crate) use objects::Objects;
pub(crate) use resolve::{JsType, js_type};
pub(crate) use style::set_text;

use crate::function::Ending;

/// An exception of JavaScript.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Exception(pub(crate) String);

impl Exception {
    pub(crate) fn type_error(text: impl std::fmt::Display) -> Exception {
        Exception(format!("TypeError: {text}"))
    }

    /// The exception for reading a property of null or undefined.
    pub(crate) fn no_property(name: &str, of: &str) -> Exception {
        Exception::type_error(format!("Cannot read properties of {of} (reading '{name}')"))
    }
}

impl From<Exception> for Ending {
    fn from(exception: Exception) -> Ending {
        Ending::Exit {
            code: 2,
            stderr: format!("{exception}\n"),
        }
    }
}
