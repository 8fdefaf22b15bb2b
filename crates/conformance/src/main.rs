//! Golden-case runner.

fn main() {}
