//! The kiln binary from the outside.

mod compat;
mod example;
mod recorded;
mod safety;
mod shared;
mod world;
