//! Functions in WebAssembly. A module sees its input and nothing else: no files, no network, no environment.
//!
//! [`WasmEvaluator`] runs modules in files, [`WasmImageEvaluator`] those in images. A [`WasmModule`] is checked before an
//! engine reads it. `engine` has the interpreter and, with the feature `wasm-jit`, the compiler; `tier` chooses between them
//! and stores compiled code. `host` is what a module can reach; `wasi1` and `gojs` are the two interfaces to it, written once
//! for all engines. `run` is one call, in a store of its own, which epochs or fuel end at the deadline.
//!
//! Every address is checked, and what the host holds for a module counts towards its memory limit.

mod disk_limit;
mod engine;
mod evaluator;
mod gojs;
mod host;
mod images;
mod module;
mod options;
mod run;
mod tier;
mod wasi1;

pub use engine::EngineError;
pub use evaluator::{WasmError, WasmEvaluator, read_module_file, read_wasm_file};
pub use host::{WasmClock, WasmRandom};
pub use images::{
    ContentsProblem, ImageFormat, PushedModule, WasmImageError, WasmImageEvaluator,
    WasmImageOptions, WasmImages, module_platforms,
};
pub use module::{
    MAX_MODULE, ModuleDigest, ModuleError, WasmImport, WasmInterface, WasmModule, is_wasm,
};
pub use options::{
    ENGINES, HAS_COMPILER, StepListener, WasmEngine, WasmFlagError, WasmOptions, WasmStep,
    WasmUsage,
};
pub use run::DEFAULT_MEMORY;
