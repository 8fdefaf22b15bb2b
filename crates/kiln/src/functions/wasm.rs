//! Functions in WebAssembly, which are not supported yet.
//!
//! With `--allow-alpha-wasm` all images are WebAssembly, and programs as the command decides. Such a function is refused when it
//! is about to run; the flag alone has no effect.

use kiln_go::quote;
use kiln_runtime::{Evaluator, FindError, Found, FunctionSpec, Target};

/// Which programs are WebAssembly; images all are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WasmPrograms {
    /// All, as in render.
    All,
    /// Those whose name ends in `.wasm`, as in eval.
    ByName,
}

/// Refuses functions in WebAssembly.
pub(crate) struct WasmRefused(pub(crate) WasmPrograms);

#[derive(Debug, thiserror::Error)]
#[error(
    "--allow-alpha-wasm runs function {} as WebAssembly, which kiln does not support yet; \
     omit the flag to run it as {instead}",
    quote(function)
)]
struct WasmNotSupported {
    function: String,
    instead: &'static str,
}

impl Evaluator for WasmRefused {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        let instead = match &function.target {
            Target::Image(_) => "an image",
            Target::Exec(command) if self.is_wasm(command) => "a program",
            Target::Exec(_) | Target::Program(_) => return Err(FindError::not_found(function)),
        };
        Err(FindError::refused(WasmNotSupported {
            function: function.name().to_owned(),
            instead,
        }))
    }
}

impl WasmRefused {
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
