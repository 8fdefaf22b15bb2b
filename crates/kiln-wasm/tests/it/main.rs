//! Modules on both engines.

#[cfg(feature = "wasm-jit")]
mod compiled;
mod go_modules;
mod hostile;
mod images;
mod registry;
mod rust_module;
mod support;
mod translation;
mod wasi;
