//! The binary as a process, under both names.

mod calls;
mod empty_root;
mod go_peers;
#[path = "../../../../tests/interop/peers.rs"]
mod peers;
mod probe;
mod threads;
mod version;
mod wrapper_process;
