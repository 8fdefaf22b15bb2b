//! The kiln binary from the outside.

mod compat;
mod docs;
mod example;
mod faults;
mod recorded;
mod run;
mod safety;
mod shared;
mod world;
