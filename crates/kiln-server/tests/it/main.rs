//! A server in this process, and clients of it.

mod binding;
mod calls;
mod drain;
mod faults;
mod forward;
mod harness;
mod health;
mod hostile;
mod limits;
mod parts;
mod peers;
mod raw;
mod reflection;
mod security;
mod trailers;
