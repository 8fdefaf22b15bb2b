//! Functions that are local executables.
//!
//! [`ExecRuntime`] knows command lines and paths of programs, nothing else. A program gets the caller's environment and
//! working directory, or those of a sandbox ([`ExecRuntime::with_sandbox`]); the list is on its standard input and its
//! answer on its standard output. [`ImageRuntime`] runs the programs that a table lists for images.

mod image_runtime;
mod image_table;
mod runtime;
mod words;

pub use image_runtime::{ImageRuntime, TableEvent};
pub use image_table::{Duplicate, ImageTable, TableError};
pub use runtime::{ExecError, ExecRuntime};
pub use words::{SplitError, split};
