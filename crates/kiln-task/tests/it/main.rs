//! Package revisions in real git repositories.

mod discover;
mod faults;
mod image;
mod lifecycle;
mod roundtrip;
mod tasks;
mod upgrade;
mod world;
