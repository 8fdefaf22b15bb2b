//! A server in this process, and clients of it.

mod calls;
mod drain;
mod faults;
mod forward;
mod harness;
mod health;
mod limits;
mod reflection;
mod security;
