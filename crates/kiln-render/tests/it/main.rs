//! Renders of packages in memory, with functions that are closures, actions or programs.

mod actions;
mod beside;
mod comments;
mod failures;
mod properties;
mod rendering;
mod returned;
mod trees;
mod world;
