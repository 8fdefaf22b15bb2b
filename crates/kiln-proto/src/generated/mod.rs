//! Code that `cargo run -p xtask -- generate` makes from `proto/`. A test of `xtask` holds it to the definitions.

pub mod evaluator;
pub(crate) mod kiln_evaluator_v1;
