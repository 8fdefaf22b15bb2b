//! Running code.

mod arguments;
mod attribute;
mod bind;
mod call;
mod context;
mod index;
mod instructions;
mod interpolate;
mod machine;
mod operators;
mod slice;

pub use arguments::Arguments;
pub(crate) use arguments::Want;
pub(crate) use attribute::{attribute, attribute_names, missing};
pub use context::{Context, Members, World};
pub(crate) use context::{Heap, Linked};
pub(crate) use index::out_of_range;
pub(crate) use machine::{Machine, collect};
pub(crate) use operators::{intersection, symmetric_difference, to_float};
pub(crate) use slice::indices;
