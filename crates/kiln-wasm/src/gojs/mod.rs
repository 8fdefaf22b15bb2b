//! Go's `js` interface, which kpt's functions in WebAssembly use: a program built with `GOOS=js` that registers a global
//! function `processResourceList`.
//!
//! Go expects a JavaScript engine. It gets the few values and functions that its runtime and kpt's functions use
//! ([`GoValues`], `builtins`); no script is ever run. Memory is borrowed anew in every import, because a call into Go may move it.

mod builtins;
mod calls;
mod driver;
mod imports;
mod stack;
mod values;

pub(crate) use driver::{GoAnswer, run};
pub(crate) use imports::FUNCTIONS;
pub(crate) use values::GoValues;

use crate::host::{ExportedFunction, NumberType, Signature};

/// The module names of the imports: since Go 1.21, and before.
pub(crate) const MODULES: [&str; 2] = ["gojs", "go"];

/// The exported functions that show that a module has this interface.
pub(crate) const EXPORTS: &[ExportedFunction] = &[
    export("run", &[NumberType::I32, NumberType::I32], None),
    export("resume", &[], None),
    export("getsp", &[], Some(NumberType::I32)),
];

const fn export(
    name: &'static str,
    parameters: &'static [NumberType],
    result: Option<NumberType>,
) -> ExportedFunction {
    ExportedFunction {
        name,
        signature: Signature { parameters, result },
    }
}
