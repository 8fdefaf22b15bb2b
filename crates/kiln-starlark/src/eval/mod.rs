//! Running code.

mod arguments;
mod attribute;
mod bind;
mod call;
mod census;
mod context;
mod heap;
mod index;
mod instructions;
mod interpolate;
mod machine;
mod operators;
mod slice;

pub use arguments::Arguments;
pub(crate) use arguments::Want;
pub(crate) use attribute::{attribute, attribute_names, missing};
pub(crate) use context::Linked;
pub use context::{Context, Host, Members};
pub(crate) use heap::Heap;
pub(crate) use index::out_of_range;
pub(crate) use machine::{Machine, collect};
pub(crate) use operators::{intersection, symmetric_difference, to_float};
pub(crate) use slice::indices;
