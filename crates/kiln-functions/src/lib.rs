//! The functions of the public catalog, built in: on the tree, without a process or a container.
//!
//! [`Function`] is what a function is; [`registry`] knows which ones there are, by name and version; [`NativeEvaluator`] offers
//! them to pipelines, and [`wire::run`] to whoever has a ResourceList as text. A version is known or it is not found:
//! nothing is guessed. Each function behaves as the original of its version does, in what it writes as in what it
//! says, except that it never panics and keeps an order where Go's maps have none.
//!
//! Functions touch neither files nor network nor environment; what they may know of the world is in their [`Context`],
//! files included: [`Files`] has those that the user gave.

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
