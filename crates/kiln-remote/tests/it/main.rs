//! A runner in this process, and calls to it.

mod calls;
mod connections;
mod security;
mod server;
