//! Renders of packages in memory, with functions that are closures, actions or programs.

mod actions;
mod comments;
mod failures;
mod parallel;
mod properties;
mod rendering;
mod returned;
mod setup;
mod stopped;
mod touched;
mod trees;
