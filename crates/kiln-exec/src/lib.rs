//! Functions that are local executables.
//!
//! [`ExecEvaluator`] runs command lines and paths of programs, nothing else. A program gets the caller's environment
//! and working directory, or those of a sandbox ([`ExecEvaluator::with_sandbox`]); it reads the list from standard
//! input and writes its answer to standard output. [`WatchedTable`] has the programs that a table lists for images.

mod evaluator;
mod image_table;
mod watched_table;
mod words;

pub use evaluator::{ExecError, ExecEvaluator};
pub use image_table::{Duplicate, ImageTable, TableError};
pub use watched_table::{TableEvent, WatchedTable};
pub use words::{SplitError, split};
