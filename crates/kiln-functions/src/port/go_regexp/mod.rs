//! Compiles regular expressions in Go's syntax, within limits on memory.

#[cfg(test)]
mod tests;

use kiln_go::regexp::{GoRegexp, NEST_LIMIT, RegexpError};
use regex::{Regex, RegexBuilder};

use crate::budget::may_compile;

/// The most bytes that a compiled expression may take, as in the `regex` crate.
const MAX_SIZE: usize = 10 << 20;

/// The most bytes that a search may take.
const MAX_SEARCH_BYTES: usize = 64 << 20;

/// Why an expression cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum PatternError {
    #[error(transparent)]
    Syntax(#[from] RegexpError),
    #[error("{0}: use fewer groups and repetitions, or --no-native")]
    TooLarge(#[from] PatternTooLarge),
}

/// Go accepts the expression, but it needs too much memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a regular expression of {bytes} bytes needs too much memory")]
pub(crate) struct PatternTooLarge {
    bytes: usize,
}

/// Compiles an expression.
pub(crate) fn compile(expression: &str) -> Result<Regex, PatternError> {
    if !may_compile(expression) {
        let bytes = expression.len();
        return Err(PatternTooLarge { bytes }.into());
    }
    Ok(build(&GoRegexp::parse(expression)?)?)
}

/// Compiles an expression whose length was checked.
pub(crate) fn build(expression: &GoRegexp) -> Result<Regex, PatternTooLarge> {
    let mut builder = RegexBuilder::new(expression.translation());
    builder.nest_limit(NEST_LIMIT);
    builder.size_limit(MAX_SIZE.min(expression.max_size(MAX_SEARCH_BYTES)));
    let bytes = expression.source().len();
    builder.build().map_err(|_| PatternTooLarge { bytes })
}
