//! The program, run as a process.

#[path = "../../../kiln-image/tests/it/busybox.rs"]
mod busybox;
mod cluster;
mod go_peers;
mod images;
mod links;
mod load;
#[path = "../../../../tests/interop/peers.rs"]
mod peers;
mod pods;
mod policy;
mod policy_signatures;
mod program;
#[expect(dead_code, reason = "the tests of the store use the rest")]
#[path = "../../../kiln-store/tests/it/registry.rs"]
mod registry;
mod reload;
mod secrets;
mod serving;
mod signals;
mod soak;
mod startup;
mod status_page;
mod telemetry;
mod unit_file;
mod wasm;
mod workers;
