//! Regular expressions in Go's syntax, rewritten for the `regex` crate.
//!
//! The engines match alike; the syntaxes differ in details: which classes are ASCII, which escapes exist, what is an
//! error. An expression is parsed by Go's rules, with Go's messages. Groups lose their names, because Go allows
//! duplicate names; they keep their numbers, and [`GoRegexp::groups_named`] knows the names.

mod class;
mod escape;
mod replacement;
mod split;
mod translate;
mod unicode;

pub use replacement::{ReplacementPart, replacement_parts};
pub use split::SplitRanges;

use std::fmt;

/// Go's limit on nesting.
const MAX_NESTING: usize = 1000;

/// The limit on nesting for the engine. A group may take several levels there.
pub const NEST_LIMIT: u32 = 4 * MAX_NESTING as u32;

/// The least bytes that a state counts for the engine's limit on sizes.
const STATE: usize = 32;

/// An expression that Go rejects.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegexpError {
    what: &'static str,
    text: String,
}

impl RegexpError {
    fn new(what: &'static str, text: &str) -> RegexpError {
        let text = text.to_owned();
        RegexpError { what, text }
    }
}

impl fmt::Display for RegexpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error parsing regexp: {}: `{}`", self.what, self.text)
    }
}

impl std::error::Error for RegexpError {}

/// An expression that Go accepts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GoRegexp {
    source: String,
    translation: String,
    groups: usize,
    names: Vec<(String, usize)>,
}

impl GoRegexp {
    pub fn parse(expression: &str) -> Result<GoRegexp, RegexpError> {
        translate::translate(expression)
    }

    /// The expression as it was written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The expression for the `regex` crate.
    pub fn translation(&self) -> &str {
        &self.translation
    }

    /// The numbers of the groups with a name.
    pub fn groups_named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = usize> + 'a {
        let named = self.names.iter().filter(move |(own, _)| own == name);
        named.map(|(_, number)| *number)
    }

    /// The most bytes that a search takes if the compiled expression takes `size` bytes. The engine keeps the positions
    /// of all groups for each state, for two positions of the text.
    pub fn search_bytes(&self, size: usize) -> usize {
        (size / STATE).saturating_mul(self.bytes_per_state())
    }

    /// The largest size of the compiled expression with which a search takes at most that many bytes.
    pub fn max_size(&self, search_bytes: usize) -> usize {
        (search_bytes / self.bytes_per_state()).saturating_mul(STATE)
    }

    fn bytes_per_state(&self) -> usize {
        // The whole match is a group. A group has a start and an end.
        let positions = self.groups.saturating_add(1).saturating_mul(2);
        positions.saturating_mul(2 * size_of::<usize>())
    }
}

#[cfg(test)]
mod tests;
