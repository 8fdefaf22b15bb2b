//! Tests of the crate as its users see it, against recorded facts where there are some.

#![expect(
    clippy::print_stderr,
    reason = "a test that is skipped for want of data has to say so"
)]

mod line_keeping;
mod lists;
mod pairs;
mod planning;
mod recorded;
mod shared;
