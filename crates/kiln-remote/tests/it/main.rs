//! A runner in this process, and calls to it.

mod calls;
mod connections;
mod go_peers;
#[path = "../../../../tests/interop/peers.rs"]
mod peers;
mod security;
mod server;
