//! Real processes: no deadlock, no zombie, nothing left behind.

mod context;
mod process;
