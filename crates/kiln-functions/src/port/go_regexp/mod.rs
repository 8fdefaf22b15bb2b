//! Regular expressions in Go's syntax.
//!
//! The engines match alike; the syntaxes differ in details: which classes are ASCII, which escapes exist, what is an
//! error. An expression is parsed by Go's rules, with Go's messages, and rewritten for the `regex` crate. Groups lose
//! their names, because Go allows duplicate names; they keep their numbers.

mod class;
mod escape;
mod translate;

#[cfg(test)]
mod tests;

use regex::{Regex, RegexBuilder};

use crate::budget::may_compile;

/// Go's limit on nesting.
const MAX_NESTING: usize = 1000;

/// An expression that Go rejects.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("error parsing regexp: {what}: `{text}`")]
pub(crate) struct RegexpError {
    what: &'static str,
    text: String,
}

impl RegexpError {
    fn new(what: &'static str, text: &str) -> RegexpError {
        let text = text.to_owned();
        RegexpError { what, text }
    }
}

/// Compiles an expression in Go's syntax.
pub(crate) fn compile(expression: &str) -> Result<Regex, RegexpError> {
    let too_large = || RegexpError::new("expression too large", expression);
    if !may_compile(expression) {
        return Err(too_large());
    }
    let translated = translate::translate(expression)?;
    let mut builder = RegexBuilder::new(&translated);
    // Each group may take two levels here.
    builder.nest_limit(4 * MAX_NESTING as u32);
    builder.build().map_err(|_| too_large())
}
