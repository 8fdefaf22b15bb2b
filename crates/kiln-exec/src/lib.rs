//! Functions that are local executables.
//!
//! [`ExecEvaluator`] knows command lines and paths of programs, nothing else. A program gets the caller's environment and
//! working directory, or those of a sandbox ([`ExecEvaluator::with_sandbox`]); the list is on its standard input and its
//! answer on its standard output. [`TableEvaluator`] runs the programs that a table lists for images.

mod evaluator;
mod image_table;
mod table_evaluator;
mod words;

pub use evaluator::{ExecError, ExecEvaluator};
pub use image_table::{Duplicate, ImageTable, TableError};
pub use table_evaluator::{TableEvaluator, TableEvent};
pub use words::{SplitError, split};
