//! Functions in WebAssembly, which cannot be run yet.
//!
//! `--allow-alpha-wasm` says that functions are such: all images, and programs as the command decides. That is refused
//! when such a function is met, not before: the flag itself does no harm.

use kiln_go::quote;
use kiln_runtime::{Evaluator, FindError, Found, FunctionSpec, Target};

/// Which programs are WebAssembly; images all are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WasmPrograms {
    /// All of them, as render has it.
    All,
    /// Those whose name ends in `.wasm`, as eval has it.
    ByName,
}

/// Refuses functions in WebAssembly.
pub(crate) struct NoWasm(pub(crate) WasmPrograms);

#[derive(Debug, thiserror::Error)]
#[error(
    "--allow-alpha-wasm makes function {} WebAssembly, which kiln cannot run yet; \
     leave the flag out to run it as {instead}",
    quote(function)
)]
struct NotYet {
    function: String,
    instead: &'static str,
}

impl Evaluator for NoWasm {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        let instead = match &function.target {
            Target::Image(_) => "an image",
            Target::Exec(command) if self.is_wasm(command) => "a program",
            Target::Exec(_) | Target::Program(_) => return Err(FindError::not_found(function)),
        };
        Err(FindError::refused(NotYet {
            function: function.name().to_owned(),
            instead,
        }))
    }
}

impl NoWasm {
    fn is_wasm(&self, command: &str) -> bool {
        match self.0 {
            WasmPrograms::All => true,
            WasmPrograms::ByName => {
                let words = kiln_exec::split(command).unwrap_or_default();
                words
                    .first()
                    .is_some_and(|program| program.ends_with(".wasm"))
            }
        }
    }
}
