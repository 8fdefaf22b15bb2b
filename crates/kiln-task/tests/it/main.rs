//! Package revisions in real git repositories.

mod discover;
mod faults;
mod image;
mod lifecycle;
mod tasks;
mod upgrade;
mod world;
