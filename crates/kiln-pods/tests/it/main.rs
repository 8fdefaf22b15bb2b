//! Tests of the pod evaluator through its public interface.

#![expect(
    clippy::print_stderr,
    reason = "skipped tests and the duration of calls are printed"
)]

mod cluster;
