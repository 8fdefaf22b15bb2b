//! The evaluator as its callers see it.

#![expect(
    clippy::print_stderr,
    reason = "a skip is said loudly, and how long calls took is worth reading"
)]

mod cluster;
