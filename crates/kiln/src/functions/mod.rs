//! Running functions: the flags that configure evaluators, and the evaluators they configure.

pub(crate) mod cache;
pub(crate) mod container_functions;
pub(crate) mod evaluators;
pub(crate) mod flags;
pub(crate) mod image_runtime;
pub(crate) mod lock;
pub(crate) mod mounted_files;
pub(crate) mod policy;
pub(crate) mod registry_tags;
pub(crate) mod runner_flags;
pub(crate) mod unknown_function;
pub(crate) mod wasm;
