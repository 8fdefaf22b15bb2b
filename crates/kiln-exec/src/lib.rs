//! Functions that are local executables.
//!
//! [`ExecRuntime`] knows command lines and paths of programs, nothing else. A program gets the caller's environment and
//! working directory, or those of a sandbox ([`ExecRuntime::with_sandbox`]); the list is on its standard input and its
//! answer on its standard output.

mod runtime;
mod words;

pub use runtime::{ExecError, ExecRuntime};
pub use words::{SplitError, split};
