//! What the crate promises to its host, and what go.starlark.net made of the same programs.

mod limits;
mod recorded;
mod values;
