//! Code that `cargo run -p xtask -- generate` makes from `proto/`. A test of `xtask` holds it to the definitions.

pub mod evaluator;
#[expect(
    unreachable_pub,
    reason = "only the messages and the client are used; the server is `kiln-server`"
)]
pub(crate) mod kiln_evaluator_v1;
