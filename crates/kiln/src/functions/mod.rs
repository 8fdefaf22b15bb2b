//! Running functions: the flags that configure evaluators, and the evaluators they configure.

pub(crate) mod container_functions;
pub(crate) mod evaluators;
pub(crate) mod flags;
mod mounted_files;
pub(crate) mod registry_tags;
mod runner_flags;
pub(crate) mod wasm;
