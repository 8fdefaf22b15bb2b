//! What the crate promises to its host.

mod limits;
mod values;
