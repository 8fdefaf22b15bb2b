//! The functions of the public catalog, built in: they run on trees, without a process or a container.
//!
//! [`Function`] is the trait of a function; [`registry`] finds functions by name and version; [`NativeEvaluator`]
//! runs them in pipelines, and [`wire::run`] runs them on a ResourceList as text. Only known versions are found. Each
//! function behaves like the original of its version, in its output and its messages, except that it never panics and
//! that its order is fixed where Go's map order is random.
//!
//! Functions access neither files nor network nor environment, except through their [`Context`]: [`Files`] contains
//! the files that the user passed.

mod budget;
mod catalog;
mod evaluator;
mod function;
mod output;
mod port;
pub mod registry;
pub mod sdk;
mod settle;
mod watched;
pub mod wire;

pub use catalog::StarlarkScript;
pub use evaluator::NativeEvaluator;
pub use function::{Context, Ending, Files, Function, FunctionList, ListHeads, NoFiles, Stopped};
pub use output::{Printed, Results};
