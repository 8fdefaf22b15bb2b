//! Package revisions in real git repositories.

mod archive;
mod copies;
mod discover;
mod faults;
mod image;
mod lifecycle;
mod registry;
mod roundtrip;
mod steps;
mod tasks;
mod upgrade;
mod world;
