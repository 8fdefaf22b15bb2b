//! The program, run as a process.

mod cluster;
mod go_peers;
mod links;
mod load;
#[path = "../../../../tests/interop/peers.rs"]
mod peers;
mod pods;
mod policy;
mod program;
mod reload;
mod serving;
mod signals;
mod soak;
mod startup;
mod status_page;
mod telemetry;
mod wasm;
mod workers;
