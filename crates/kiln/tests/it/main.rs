//! The kiln binary from the outside.

mod compat;
mod example;
mod recorded;
mod run;
mod safety;
mod shared;
mod world;
