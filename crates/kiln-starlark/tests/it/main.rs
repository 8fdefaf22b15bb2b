//! The crate's guarantees to its host, and the output of go.starlark.net for the same programs.

mod limits;
mod recorded;
mod regexp;
mod values;
