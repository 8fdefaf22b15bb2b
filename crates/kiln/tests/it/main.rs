//! The kiln binary from the outside.

mod argocd;
mod bounds;
mod browser;
#[path = "../../../kiln-image/tests/it/busybox.rs"]
mod busybox;
mod cache;
mod ci;
mod compat;
mod delivery;
mod deploy;
mod docs;
mod engine;
mod engine_link;
mod errors;
mod example;
mod faults;
mod golden_images;
mod help;
mod identity;
mod image_signatures;
mod image_store;
mod images;
mod interrupt;
mod kustomize;
mod live;
mod lock;
mod log;
mod lossless;
mod migrate;
mod native;
mod new_function;
#[cfg(target_os = "linux")]
mod old_systems;
mod package_errors;
mod package_hostile;
mod package_images;
mod package_kills;
mod package_runners;
mod packages;
mod pkg;
mod pkg_remote;
mod pkg_update;
mod policy;
mod policy_signatures;
mod progress;
mod real_images;
mod recorded;
#[cfg(target_os = "linux")]
#[path = "../../../kiln-sandbox/tests/it/refused_calls.rs"]
mod refused_calls;
mod report;
mod report_problems;
mod rpkg;
mod rpkg_git;
mod run;
mod runner;
mod safety;
mod sandbox;
mod secrets;
mod serve;
mod shared;
#[expect(dead_code, reason = "the tests of the store use the rest")]
#[path = "../../../kiln-store/tests/it/registry.rs"]
mod store_registry;
mod test_environment;
mod tls;
mod versions;
mod wasm;
mod wasm_golden;
#[expect(
    dead_code,
    reason = "the tests of functions in WebAssembly use the rest"
)]
#[path = "../../../kiln-wasm/tests/it/registry.rs"]
mod wasm_registry;
mod watch;
mod words;
