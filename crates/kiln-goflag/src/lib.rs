//! Command lines as Go's `flag` package reads them, for programs that stand in for Go programs.
//!
//! One or two dashes, `-name value` or `-name=value`, flags without a value only for booleans, and an end at the first
//! argument that is no flag or at `--`. What is wrong is said in Go's words. [`GoDuration`] is Go's way to write spans of
//! time.
//!
//! Deliberately absent: everything that Go's package does not have (short names, sub-commands, values from the
//! environment), and printing: [`Stop`] says what a program has to print and how it exits.

mod duration;
mod flags;

pub use duration::{DurationError, GoDuration};
pub use flags::{FlagSet, Key, Parsed, Stop, Value};
