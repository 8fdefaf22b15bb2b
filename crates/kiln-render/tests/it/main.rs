//! Renders of packages in memory, with functions that are closures.

mod failures;
mod rendering;
mod world;
