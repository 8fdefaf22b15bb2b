//! Package revisions in real git repositories.

mod lifecycle;
mod world;
