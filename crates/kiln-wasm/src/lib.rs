//! Functions in WebAssembly. A module sees its input and nothing else: no files, no network, no environment.

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
pub use evaluator::{WasmError, WasmEvaluator, read_module_file};
pub use host::{WasmClock, WasmRandom};
pub use images::{
    ContentsProblem, ImageFormat, PushedModule, WasmImageError, WasmImageEvaluator,
    WasmImageOptions, WasmImages, module_platforms,
};
pub use module::{
    MAX_MODULE, ModuleDigest, ModuleError, WasmImport, WasmInterface, WasmModule, is_wasm,
};
pub use options::{
    HAS_COMPILER, StepListener, WasmEngine, WasmFlagError, WasmOptions, WasmStep, WasmUsage,
};
pub use run::DEFAULT_MEMORY;
