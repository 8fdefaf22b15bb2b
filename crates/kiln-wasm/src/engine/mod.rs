//! The engines that run modules: an interpreter, which is always there, and a compiler, which is a cargo feature.
//!
//! Both get the same host functions and the same limits, so that a module behaves the same on both.

#[cfg(feature = "wasm-jit")]
pub(crate) mod compiler;
pub(crate) mod interpreter;
#[cfg(feature = "wasm-jit")]
mod ticker;
pub(crate) mod translation_cost;

use crate::host::{CallState, Guest, Stop};

/// A module that an engine has read. It makes any number of instances, on any thread.
pub(crate) trait Code: Send + Sync {
    /// Makes an instance for one call.
    fn instantiate(&self, state: CallState) -> Result<Box<dyn Instance>, Stop>;
}

/// An instance of a module, with its own memory, for one call.
pub(crate) trait Instance: Guest {
    /// Ends the instance and returns what it left behind.
    fn finish(self: Box<Self>) -> CallState;
}

/// Why an engine does not take a module.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct EngineError(pub(crate) String);

#[cfg(not(feature = "wasm-jit"))]
impl EngineError {
    /// The compiler was demanded from a program without one.
    pub(crate) fn no_compiler() -> EngineError {
        EngineError("this program has no compiler; build it with --features wasm-jit".to_owned())
    }
}

/// The stack of a module. Nested calls of the host take some of it too.
const MAX_STACK: usize = 1 << 20;

/// How many calls inside a module the interpreter nests: as many as compiled code can on its stack, where a call takes at least
/// a return address and a frame pointer.
const MAX_CALLS: usize = MAX_STACK / 16;
