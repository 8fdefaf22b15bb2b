//! Package revisions in real git repositories.

mod archive;
mod faults;
mod fixture;
mod git_version;
mod image;
mod lifecycle;
mod local_copies;
mod registry;
mod roundtrip;
mod snapshot;
mod steps;
mod tasks;
mod upgrade;
mod work_tree;
