//! Tests of the merge.

mod fields;
mod files;
mod lock;
mod marks;
mod packages;
mod properties;

use super::{MergeError, Merged, Versions, merge};
use crate::contents::Contents;
use crate::task::Strategy;

#[track_caller]
fn package(files: &[(&str, &str)]) -> Contents {
    let mut contents = Contents::new();
    for (path, text) in files {
        contents.insert_text(path, text).expect("a path");
    }
    contents
}

fn merge_with(
    strategy: Strategy,
    origin: &Contents,
    updated: &Contents,
    local: &Contents,
) -> Result<Merged, MergeError> {
    let versions = Versions {
        origin,
        updated,
        local,
    };
    merge(versions, strategy)
}

/// The text of a file; empty if it does not exist.
fn text<'a>(contents: &'a Contents, path: &str) -> &'a str {
    let bytes = contents.bytes(path).unwrap_or_default();
    std::str::from_utf8(bytes).expect("UTF-8")
}

fn conflicts(merged: &Merged) -> Vec<String> {
    merged.conflicts.iter().map(ToString::to_string).collect()
}
